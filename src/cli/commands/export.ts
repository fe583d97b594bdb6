import { type Command, Option } from 'commander';
import { termsOf } from '../../domain/events/payloads.ts';
import { subjectKinds } from '../../domain/records/catalog.ts';
import { parseTerms, withTerms } from '../../modules/audit/disclosureTerms.ts';
import { exportEvents, recordExport, startOfExport } from '../../modules/integrity/export.ts';
import {
  ExportFile,
  type ExportFormat,
  type ExportJob,
  type ExportProgress,
  type ExportSink,
  signManifest,
} from '../../modules/integrity/exportArchive.ts';
import { manifestPath } from '../../modules/integrity/manifest.ts';
import { loadSigningKey, type WorkspaceTools, withWorkspace } from '../../server/stores.ts';
import { terminal } from '../../server/terminal.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { ofFile } from '../lib/files.ts';
import { parseInstant } from '../lib/options.ts';
import { createLogProgress } from '../lib/progress.ts';
import { counted, endWithReader, example, writeLine, writePaced } from '../lib/terminal.ts';
import { addTermOptions, type TermOptions, termsOfOptions } from '../lib/termOptions.ts';

interface ExportOptions extends TermOptions {
  workspace: string;
  /** ISO 8601, UTC, to the millisecond. */
  since?: string;
  until?: string;
  kind?: string;
  format: ExportFormat;
  out?: string;
  force?: boolean;
}

const standardOutput: ExportSink = { write: writePaced, reached: async () => undefined };

async function exportWorkspace(options: ExportOptions): Promise<void> {
  const { terms, others } = termsOfOptions(options);
  const disclosedTo = termsOf(parseTerms(terms));
  const { workspace, since: from = null, until: to = null, kind = null, format, out, force = false } = others;
  const job: ExportJob = { workspace, filters: { from, to, kind }, format };
  endWithReader();
  await withWorkspace(workspace, async (found) => {
    const tools = { ...found, caller: withTerms(found.caller, disclosedTo) };
    if (out === undefined) await run(tools, job, undefined);
    else await ofFile(out, () => exportToFile(tools, job, out, force));
  });
}

async function exportToFile(
  tools: WorkspaceTools,
  job: ExportJob,
  path: string,
  force: boolean,
): Promise<void> {
  const file = await ExportFile.open(path, job, force);
  try {
    const progress = await run(tools, job, file);
    await finish(file, job, progress, tools.eventLog);
  } finally {
    await file.close();
  }
}

async function run(
  { eventLog, names, caller }: WorkspaceTools,
  job: ExportJob,
  file: ExportFile | undefined,
): Promise<ExportProgress> {
  const begun = file?.resumed ?? startOfExport(0);
  // An interrupted export may lack the tombstones of what was already erased when it was read: they come before the new end.
  const progress = { ...begun, until: await recordExport(eventLog, caller, job, begun.position + 1) };
  if (file?.resumed) terminal().stderr.write(`Going on after ${progress.events} events of an earlier run.\n`);
  const bar = createLogProgress(
    terminal().stderr.isTTY === true && (file !== undefined || !terminal().stdout.isTTY),
  );
  const sink = file ?? standardOutput;
  try {
    await exportEvents({ eventLog, caller, nameOf: (principal) => names.nameOf(principal) }, job, progress, {
      write: (text) => sink.write(text),
      async reached(now) {
        bar.at(now.position, now.until, now.events);
        await sink.reached(now);
      },
    });
  } finally {
    bar.stop();
  }
  return progress;
}

async function finish(
  file: ExportFile,
  job: ExportJob,
  progress: ExportProgress,
  eventLog: EventLog,
): Promise<void> {
  const signingKey = await loadSigningKey(eventLog);
  await file.finish((digest) => signManifest(job, progress, digest, signingKey));
  writeLine(
    `${counted(progress.events, 'event')} in ${file.path}; ${manifestPath(file.path)} is the manifest.`,
  );
}

/** `chartledger export` */
export function addExportCommand(program: Command): void {
  addTermOptions(program.command('export'))
    .description(
      'Export the events of a workspace, in log order: records, documents, keys and who read what. With ' +
        '--out, a signed manifest next to the file states what it contains (see `verify`), and running ' +
        'the same command again resumes an interrupted export.',
    )
    .requiredOption('--workspace <id>', 'the workspace')
    .option('--since <time>', 'events recorded at or after this ISO 8601 date or date-time', parseInstant)
    .option('--until <time>', 'events recorded before this ISO 8601 date or date-time', parseInstant)
    .addOption(
      new Option('--kind <kind>', 'only changes to records of one kind, or to documents').choices(
        subjectKinds,
      ),
    )
    .addOption(
      new Option(
        '--format <format>',
        'ndjson: one complete event per line; csv: one row per event, with an apostrophe in front of cells ' +
          'that a spreadsheet would interpret as a formula',
      )
        .choices(['ndjson', 'csv'])
        .makeOptionMandatory(),
    )
    .option('--out <file>', 'the file to write (default: standard output, without a manifest)')
    .option('--force', 'replace an existing file, or another unfinished export')
    .addHelpText(
      'after',
      example(
        'chartledger export --workspace clinic --format ndjson --out clinic.ndjson',
        'chartledger export --workspace clinic --format csv --kind patient --since 2026-01-01 --until 2026-02-01',
        'chartledger export --workspace clinic --format ndjson --out registry.ndjson --recipient "State cancer registry" --purpose other --purpose-statement "Required by state law"',
      ),
    )
    .action(exportWorkspace);
}

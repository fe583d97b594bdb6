import { type Command, InvalidArgumentError, Option } from 'commander';
import { terminal } from '../../app/terminal.ts';
import { version } from '../../version.ts';
import { example, writeLine, writeTable } from '../output.ts';
import { addServiceOptions, requireKey, type ServiceOptions } from '../service/serviceOptions.ts';
import { INTERRUPTED, onInterruption } from '../untilInterrupted.ts';
import type { ImportCounts, ImportTally } from './ImportTally.ts';
import { ImportError, type ImportSource } from './importSource.ts';
import { NdjsonSource } from './NdjsonSource.ts';
import { createProgress } from './progress.ts';
import { RecordSender } from './RecordSender.ts';
import { type RejectLine, ReportFile, type WarningLine } from './ReportFile.ts';
import { runImport } from './runImport.ts';
import { SyntheaSource } from './SyntheaSource.ts';

interface ImportOptions extends ServiceOptions {
  format: 'synthea' | 'ndjson';
  key?: string;
  concurrency: number;
  rejectFile?: string;
  warningFile?: string;
  allowMissing?: boolean;
  json?: boolean;
}

const MAX_CONCURRENCY = 256;
/** Different warnings that the summary shows; all of them are in the file. */
const MOST_WARNINGS = 20;
/** How long, after Ctrl-C, requests under way may take. */
const GRACE_MS = 5_000;

function parseConcurrency(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= MAX_CONCURRENCY) return value;
  throw new InvalidArgumentError(`Give a whole number from 1 to ${MAX_CONCURRENCY}.`);
}

async function openSource(path: string, options: ImportOptions): Promise<ImportSource> {
  if (options.format === 'ndjson') return new NdjsonSource(path);
  const source = await SyntheaSource.open(path);
  for (const file of source.missingFiles) terminal().stderr.write(`There is no ${file}: passed over.\n`);
  const missing = await source.missingColumns();
  const columns = missing.map(({ file, columns }) => `${file} lacks ${columns.join(', ')}`).join('; ');
  if (missing.length === 0) return source;
  if (!options.allowMissing) {
    throw new ImportError(
      `${columns}. Nothing was imported. With --allow-missing, records go in without what these columns hold.`,
    );
  }
  terminal().stderr.write(`${columns}: imported without.\n`);
  return source;
}

/** `rejected-20260314T093000Z.ndjson`: an earlier import's file is never written over. */
function reportName(content: string): string {
  const stamp = new Date().toISOString().replace(/\.\d+|[-:]/g, '');
  return `${content}-${stamp}.ndjson`;
}

function writeSummary(tally: ImportTally, json: boolean): void {
  if (json) {
    terminal().stdout.write(`${JSON.stringify(tally.counts())}\n`);
    return;
  }
  writeCounts(tally.counts());
  const warnings = tally.warnings();
  if (warnings.length === 0) return;
  const rows = warnings
    .slice(0, MOST_WARNINGS)
    .map(({ kind, field, message, count }) => [String(count), kind, field, message]);
  writeLine();
  writeTable(['WARNINGS', 'KIND', 'FIELD', 'MESSAGE'], rows);
  if (warnings.length > MOST_WARNINGS) writeLine(`and ${warnings.length - MOST_WARNINGS} other kinds`);
}

function writeCounts(counts: ImportCounts): void {
  const { accepted, created, updated, rejected, warnings, by_kind, seconds } = counts;
  const rows = Object.entries(by_kind).map(([kind, count]) => [
    kind,
    String(count.accepted),
    String(count.rejected),
  ]);
  writeTable(['KIND', 'ACCEPTED', 'REJECTED'], rows);
  writeLine(
    `${accepted} accepted (${created} created, ${updated} updated), ${rejected} rejected, ${warnings} warnings, in ${seconds.toFixed(1)} s`,
  );
}

/** The first signal lets requests under way end, for a while. The result ends that. */
function stopOnSignal(stop: AbortController, abandon: AbortController): () => void {
  return onInterruption(() => {
    stop.abort('interrupted');
    setTimeout(() => abandon.abort(), GRACE_MS).unref();
  });
}

async function importRecords(path: string, options: ImportOptions, command: Command): Promise<void> {
  const key = await requireKey(command, options.keyFile, options.key);
  const source = await openSource(path, options);
  const stop = new AbortController();
  const abandon = new AbortController();
  const endOfSignals = stopOnSignal(stop, abandon);
  const progress = createProgress(terminal().stderr.isTTY === true);
  const sender = new RecordSender({
    url: options.url,
    key,
    userAgent: `chartledger-import/${version}`,
    stop: stop.signal,
    abandon: abandon.signal,
    onWait: progress.wait,
  });
  const rejects = new ReportFile<RejectLine>(options.rejectFile ?? reportName('rejected'));
  const warnings = new ReportFile<WarningLine>(options.warningFile ?? reportName('warnings'));
  const { concurrency } = options;
  const tally = await runImport({ source, sender, rejects, warnings, progress, concurrency, stop }).finally(
    endOfSignals,
  );
  rejects.close();
  warnings.close();
  if (rejects.written) terminal().stderr.write(`What was rejected, and why, is in ${rejects.path}.\n`);
  if (warnings.written) {
    terminal().stderr.write(`What was accepted with warnings is in ${warnings.path}.\n`);
  }
  terminal().exitCode = endOf(stop.signal, tally.counts());
  writeSummary(tally, options.json === true);
}

/** The exit code; says why an import ended early. */
function endOf({ aborted, reason }: AbortSignal, counts: ImportCounts): number {
  if (!aborted) return counts.rejected === 0 ? 0 : 1;
  const interrupted = reason === 'interrupted';
  const why = interrupted ? 'interrupted' : reason instanceof Error ? reason.message : String(reason);
  terminal().stderr.write(`The import stopped early: ${why}\n`);
  return interrupted ? INTERRUPTED : 1;
}

/** `chartledger import` */
export function addImportCommand(program: Command): void {
  const command = program
    .command('import')
    .description(
      'Send records through the REST interface of a service, in the order in which they refer to each other. ' +
        'It waits when the service limits requests. Importing the same again is safe.',
    )
    .argument('<path>', 'a folder of CSV files that Synthea exported, or an NDJSON file')
    .addOption(
      new Option(
        '--format <format>',
        'what the path holds; NDJSON lines are {"kind": "patient", "record": {…}}',
      )
        .choices(['synthea', 'ndjson'])
        .makeOptionMandatory(),
    );
  addServiceOptions(command, 'write')
    .option('--key <key>', 'the API key itself, which other users of the machine can see')
    .option('--concurrency <n>', 'records sent at once', parseConcurrency, 16)
    .option('--reject-file <file>', 'where refused records are listed (default: rejected-<time>.ndjson)')
    .option(
      '--warning-file <file>',
      'where accepted records with warnings are listed (default: warnings-<time>.ndjson)',
    )
    .option('--allow-missing', 'import CSV files although expected columns are missing')
    .option('--json', 'print the counts as one line of JSON')
    .addHelpText(
      'after',
      example(
        'export CHARTLEDGER_API_KEY=clk_…',
        'chartledger import ./synthea/csv --format synthea',
        'chartledger import records.ndjson --format ndjson --url https://billing.example --json',
      ),
    )
    .action(importRecords);
}

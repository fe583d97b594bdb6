import { createHash, randomBytes } from 'node:crypto';
import { type Command, Option } from 'commander';
import { type DocumentCategory, documentFieldsSchema } from '../../../domain/records/document.ts';
import { version } from '../../../platform/version.ts';
import { terminal } from '../../../server/terminal.ts';
import { example } from '../../lib/output.ts';
import { addServiceOptions, requireKey, type ServiceOptions } from '../../lib/serviceOptions.ts';
import { onInterruption } from '../../lib/untilInterrupted.ts';
import { BatchSender } from './BatchSender.ts';
import { DocumentFolder } from './DocumentFolder.ts';
import { FhirSender } from './FhirSender.ts';
import { ImportClient } from './ImportClient.ts';
import type { ImportJob } from './ImportJob.ts';
import { type ImportIdentity, ImportState, stateFileName } from './ImportState.ts';
import { ImportTally } from './ImportTally.ts';
import { type OpenedSource, openSource } from './openSource.ts';
import { createProgress } from './progress.ts';
import { ReportFile } from './ReportFile.ts';
import { runImport } from './runImport.ts';
import { tellEnd } from './tellEnd.ts';

interface ImportOptions extends ServiceOptions {
  format?: 'synthea' | 'ndjson' | 'fhir';
  mapping?: string;
  documents?: string;
  category: DocumentCategory;
  unchanged?: 'skip';
  fresh?: boolean;
  key?: string;
  rejectFile?: string;
  warningFile?: string;
  stateFile?: string;
  allowMissing?: boolean;
  json?: boolean;
}

/** How long requests under way may take after Ctrl-C. */
const GRACE_MS = 5_000;

/** `rejected-20260314T093000Z-5f0a6d.ndjson`: the file of another import, even of the same second, is never overwritten. */
function reportName(content: string): string {
  const stamp = new Date().toISOString().replace(/\.\d+|[-:]/g, '');
  return `${content}-${stamp}-${randomBytes(3).toString('hex')}.ndjson`;
}

/** The first signal gives requests under way some time to finish. The returned function stops listening. */
function stopOnSignal(stop: AbortController, abandon: AbortController): () => void {
  return onInterruption(() => {
    stop.abort('interrupted');
    setTimeout(() => abandon.abort(), GRACE_MS).unref();
  });
}

/** Ends the command with a usage error when it does not say what to import, or as what. */
function requireInput(path: string | undefined, options: ImportOptions, command: Command): void {
  const { format, mapping, documents } = options;
  const isTyped = format !== undefined || mapping !== undefined;
  if (path === undefined && documents === undefined) {
    command.error('error: specify a file or folder of records, or a folder of documents with --documents');
  }
  if (path === undefined && isTyped) command.error('error: specify the file or folder of records');
  if (path !== undefined && !isTyped) {
    command.error("error: required option '--format <format>' not specified, nor '--mapping <file>'");
  }
}

async function identityOf(
  key: string,
  opened: OpenedSource | undefined,
  documents: DocumentFolder | undefined,
  { category, unchanged }: ImportOptions,
): Promise<ImportIdentity> {
  const [records, files] = await Promise.all([opened?.source.fingerprint(), documents?.fingerprint()]);
  return {
    key: createHash('sha256').update(key).digest('hex'),
    options: {
      ...(opened && { mapping: opened.digest }),
      ...(unchanged && { unchanged }),
      ...(documents && { category }),
    },
    input: { ...records, ...files },
  };
}

/** Opens what there is to do, and its progress. Rejects with `ImportError`. */
async function openJob(
  path: string | undefined,
  options: ImportOptions,
  key: string,
  stop: AbortController,
  abandon: AbortController,
): Promise<ImportJob> {
  const { url } = options;
  const opened = path === undefined ? undefined : await openSource(path, options);
  const documents =
    options.documents === undefined ? undefined : new DocumentFolder(options.documents, options.category);
  const identity = await identityOf(key, opened, documents, options);
  const inputs = [path, options.documents].filter((input) => input !== undefined);
  const reports = {
    rejects: { path: options.rejectFile ?? reportName('rejected'), size: 0 },
    warnings: { path: options.warningFile ?? reportName('warnings'), size: 0 },
  };
  const state = ImportState.open(options.stateFile ?? stateFileName(url, inputs), {
    identity,
    reports,
    isFresh: options.fresh === true,
  });
  const progress = createProgress(terminal().stderr.isTTY === true);
  const client = new ImportClient({
    url,
    key,
    userAgent: `chartledger-import/${version}`,
    stop: stop.signal,
    abandon: abandon.signal,
    onWait: progress.wait,
  });
  return {
    source: opened?.source,
    documents,
    client,
    batches: options.format === 'fhir' ? new FhirSender(client) : new BatchSender(client, options.unchanged),
    state,
    tally: new ImportTally(state.progress.tally),
    rejects: new ReportFile(state.progress.rejects),
    warnings: new ReportFile(state.progress.warnings),
    progress,
    stop,
  };
}

async function importRecords(
  path: string | undefined,
  options: ImportOptions,
  command: Command,
): Promise<void> {
  requireInput(path, options, command);
  const key = await requireKey(command, options.keyFile, options.key);
  const stop = new AbortController();
  const abandon = new AbortController();
  const job = await openJob(path, options, key, stop, abandon);
  const { isResumed, progress } = job.state;
  if (isResumed) {
    terminal().stderr.write(
      `Going on with the import that was begun at ${progress.begun}, behind ${progress.rows + progress.documents} that were answered.\n`,
    );
  }
  const endOfSignals = stopOnSignal(stop, abandon);
  await runImport(job).finally(endOfSignals);
  job.rejects.close();
  job.warnings.close();
  tellEnd(job, options.json === true);
}

/** `chartledger import` */
export function addImportCommand(program: Command): void {
  const command = program
    .command('import')
    .description(
      'Import records through the REST or FHIR interface of a service, in batches and in the order in ' +
        'which they refer to each other, and then documents. Waits when the service limits requests. Run ' +
        'an interrupted import again to resume where it stopped; nothing is sent twice.',
    )
    .argument('[path]', 'a folder of CSV files or of FHIR, one of its files, or an NDJSON file')
    .addOption(
      new Option(
        '--format <format>',
        'the format of the files; lines of ndjson are {"kind": "patient", "record": {…}}, fhir is Bulk ' +
          'Data (*.ndjson, *.ndjson.gz) and Bundles (*.json)',
      ).choices(['synthea', 'ndjson', 'fhir']),
    )
    .addOption(
      new Option('--mapping <file>', 'a JSON file that maps the columns of CSV files').conflicts('format'),
    )
    .option(
      '--documents <folder>',
      'PDF and DOCX files to upload: ENCOUNTER/DOCUMENT.pdf, or ENCOUNTER/CATEGORY/DOCUMENT.pdf',
    )
    .addOption(
      new Option('--category <category>', 'the category of documents whose path names none')
        .choices(documentFieldsSchema.shape.category.options)
        .default('medical_record'),
    );
  addServiceOptions(command, 'write')
    .option('--key <key>', 'the API key itself; other users of the machine can see it')
    .addOption(
      new Option('--unchanged <what>', 'create no new version of records that would not change').choices([
        'skip',
      ]),
    )
    .option('--fresh', 'start over even if an earlier import of the same data is unfinished')
    .option(
      '--reject-file <file>',
      'the file that lists rejected records (default: rejected-<time>-….ndjson)',
    )
    .option(
      '--warning-file <file>',
      'the file that lists accepted records with warnings (default: warnings-<time>-….ndjson)',
    )
    .option('--state-file <file>', 'the file that stores the progress (default: import-<digest>.state.json)')
    .option('--allow-missing', 'import CSV files even if expected columns are missing')
    .option('--json', 'print the counts as one line of JSON')
    .addHelpText(
      'after',
      example(
        'export CHARTLEDGER_API_KEY=clk_…',
        'chartledger import ./synthea/csv --format synthea',
        'chartledger import ./csv --mapping ours.json --documents ./scans',
        'chartledger import ./bulk-export --format fhir',
        'chartledger import records.ndjson --format ndjson --url https://billing.example --json',
      ),
    )
    .action(importRecords);
}

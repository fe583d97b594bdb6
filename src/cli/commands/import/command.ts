import { createHash, randomBytes } from 'node:crypto';
import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import { type Command, Option } from 'commander';
import { type DocumentCategory, documentFieldsSchema } from '../../../domain/records/document.ts';
import { version } from '../../../platform/version.ts';
import { terminal } from '../../../server/terminal.ts';
import { addServiceOptions, requireKey, requireUrl, type ServiceOptions } from '../../lib/client.ts';
import { example, INTERRUPTED, onInterruption, writeLine, writeTable } from '../../lib/terminal.ts';
import { ImportClient } from './client.ts';
import { sendDocuments } from './documents.ts';
import { FhirFolder, FhirSender } from './fhir.ts';
import { MappedSource, readMapping } from './mappedSource.ts';
import { BatchSender, createProgress, type ImportJob, note, ReportFile, sendRecords } from './send.ts';
import { DocumentFolder, ImportError, type ImportSource, NdjsonSource, NothingAccepted } from './source.ts';
import { type ImportCounts, type ImportIdentity, ImportState, ImportTally, stateFileName } from './state.ts';

const ownMappings = join(dirname(findPackageJSON('.', import.meta.url) as string), 'assets', 'mappings');
/** The generations of Synthea's CSV, latest first. */
const syntheaMappings = ['synthea.json', 'synthea-before-3.1.json'].map((name) => join(ownMappings, name));

interface SourceOptions {
  format?: 'ndjson' | 'synthea' | 'fhir';
  mapping?: string;
  allowMissing?: boolean;
}

/** An input, and the digest of what converts it to records. */
interface OpenedSource {
  source: ImportSource;
  digest: string;
}

/** Opens the records at a path. Rejects with `ImportError`. */
async function openSource(path: string, options: SourceOptions): Promise<OpenedSource> {
  if (options.mapping === undefined && options.format === 'ndjson') {
    return { source: new NdjsonSource(path), digest: 'ndjson' };
  }
  if (options.mapping === undefined && options.format === 'fhir') {
    return { source: await FhirFolder.open(path), digest: 'fhir' };
  }
  const mappings = options.mapping === undefined ? syntheaMappings : [options.mapping];
  const { source, missing } = await openMapped(path, mappings);
  for (const file of source.missingFiles)
    terminal().stderr.write(`${file} does not exist and was skipped.\n`);
  const columns = missing.map(({ file, columns }) => `${file} lacks ${columns.join(', ')}`).join('; ');
  const opened = { source, digest: source.mapping.digest };
  if (missing.length === 0) return opened;
  if (!options.allowMissing) {
    throw new ImportError(
      `${columns}. Nothing was imported. To import records without these columns, use --allow-missing.`,
    );
  }
  terminal().stderr.write(`${columns}: imported without.\n`);
  return opened;
}

/** Opens the input with the mapping that fits it best, the first if several do. */
async function openMapped(path: string, mappings: readonly string[]) {
  const opened = await Promise.all(
    mappings.map(async (file) => {
      const source = await MappedSource.open(path, await readMapping(file));
      const missing = await source.missingColumns();
      return { source, missing, count: missing.flatMap(({ columns }) => columns).length };
    }),
  );
  return opened.reduce((best, other) => (other.count < best.count ? other : best));
}

/**
 * Sends everything that is not sent yet, first records and then documents, and removes the state once everything was answered. If
 * it was stopped, `job.stop` says why, and the same import can resume from there. Rejects with `ImportError` when the input
 * cannot be surveyed.
 */
async function runImport(job: ImportJob): Promise<void> {
  const { source, documents, state, progress, stop } = job;
  const totals = (await source?.survey(unreadable(job), stop.signal)) ?? new Map<string, number>();
  const files = (await documents?.list(unreadable(job))) ?? [];
  if (stop.signal.aborted) return;
  const { rows, documents: uploaded } = state.progress;
  progress.start(
    [...totals.values(), files.length].reduce((sum, count) => sum + count, 0),
    rows + uploaded,
  );
  try {
    // What could not be read is listed; from here on the key for the first request is known.
    if (!state.isResumed) note(job, {});
    if (source) await sendRecords(job, source, totals);
    await sendDocuments(job, files);
    state.remove();
  } catch (error) {
    if (!stop.signal.aborted) stop.abort(error);
    // A different key or address means a different import.
    if (error instanceof NothingAccepted && state.isUntouched) state.remove();
  } finally {
    progress.stop();
  }
}

/** Lists what contains no record, once. */
function unreadable({ state, rejects, tally }: ImportJob) {
  return ({ source, error }: { source: string; error: string }) => {
    if (state.isResumed) return;
    rejects.write({ kind: null, source, id: null, status: null, error });
    tally.unreadable();
  };
}

/** Number of different warnings shown in the summary; all of them are in the file. */
const MOST_WARNINGS = 20;

/** Prints where the reports are, what was counted, and, if an import ended early, why. */
function reportEnd({ tally, rejects, warnings, state, stop }: ImportJob, isJson: boolean): void {
  const { stderr } = terminal();
  if (rejects.written) stderr.write(`What was rejected, and why, is in ${rejects.path}.\n`);
  if (warnings.written) stderr.write(`What was accepted with warnings is in ${warnings.path}.\n`);
  if (state.isKept) {
    stderr.write(`How far it came is in ${state.path}: the same command goes on from there.\n`);
  }
  terminal().exitCode = endOf(stop.signal, tally.counts());
  writeSummary(tally, isJson);
}

/** Returns the exit code; prints why an import ended early. */
function endOf({ aborted, reason }: AbortSignal, counts: ImportCounts): number {
  if (!aborted) return counts.rejected === 0 ? 0 : 1;
  const interrupted = reason === 'interrupted';
  const why = interrupted ? 'interrupted' : reason instanceof Error ? reason.message : String(reason);
  terminal().stderr.write(`The import stopped early: ${why}\n`);
  return interrupted ? INTERRUPTED : 1;
}

function writeSummary(tally: ImportTally, isJson: boolean): void {
  if (isJson) {
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
  const { accepted, created, updated, unchanged, rejected, warnings, by_kind, seconds } = counts;
  const rows = Object.entries(by_kind).map(([kind, count]) => [
    kind,
    String(count.accepted),
    String(count.rejected),
  ]);
  writeTable(['KIND', 'ACCEPTED', 'REJECTED'], rows);
  const outcomes = [
    `${created} created`,
    `${updated} updated`,
    ...(unchanged > 0 ? [`${unchanged} unchanged`] : []),
  ];
  writeLine(
    `${accepted} accepted (${outcomes.join(', ')}), ${rejected} rejected, ${warnings} warnings, in ${seconds.toFixed(1)} s`,
  );
}

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
  options: ImportOptions & { url: URL },
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
  const url = requireUrl(command, options.url);
  const job = await openJob(path, { ...options, url }, key, stop, abandon);
  const { isResumed, progress } = job.state;
  if (isResumed) {
    terminal().stderr.write(
      `Going on with the import that was begun at ${progress.begun}, behind ${progress.rows + progress.documents} that were answered.\n`,
    );
  }
  const endOfSignals = stopOnSignal(stop, abandon);
  await runImport(job).finally(endOfSignals);
  closeReports(job);
  reportEnd(job, options.json === true);
}

function closeReports({ rejects, warnings }: ImportJob): void {
  rejects.close();
  warnings.close();
}

/** A file to be imported for another command, and where its reports and its progress are kept. */
export interface FileImport
  extends Pick<ImportOptions, 'format' | 'mapping' | 'unchanged'>,
    Required<Pick<ImportOptions, 'rejectFile' | 'warningFile' | 'stateFile'>> {
  /** Address of the service. */
  url: URL;
  key: string;
}

/**
 * Imports a file as the command does, and resumes where an earlier call stopped; returns what was counted. Rejects with
 * `ImportError` when the file cannot be read, or the service cannot be reached: its progress is then kept. Rejects with an
 * `AbortError` after the signal.
 */
export async function importFile(
  path: string,
  { key, ...options }: FileImport,
  signal: AbortSignal,
): Promise<ImportCounts> {
  const stop = new AbortController();
  const onAbort = () => stop.abort(signal.reason);
  signal.throwIfAborted();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    const job = await openJob(path, { ...options, category: 'medical_record' }, key, stop, stop);
    await runImport(job).finally(() => closeReports(job));
    stop.signal.throwIfAborted();
    return job.tally.counts();
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
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

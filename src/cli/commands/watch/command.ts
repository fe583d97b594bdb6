import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { parseJson } from '../../../domain/events/event.ts';
import { version } from '../../../platform/version.ts';
import { terminal } from '../../../server/terminal.ts';
import { addServiceOptions, requireKey, requireUrl, type ServiceOptions } from '../../lib/client.ts';
import { parseDuration } from '../../lib/options.ts';
import { example, FAILED, untilInterrupted, writeLine } from '../../lib/terminal.ts';
import { ImportClient, type ImportedFile, recordImportedFile } from '../import/client.ts';
import { importFile } from '../import/command.ts';
import { ImportDelayed, ImportError, NothingAccepted, readLines } from '../import/source.ts';
import { writeDurably } from '../import/state.ts';
import { type Claim, DropFolder, ownNames, signature } from './folder.ts';
import { sendMessages } from './hl7.ts';

const POLL_MS = 5_000;
const FIRST_LINE_BYTES = 16 * 1024 * 1024;

interface WatchOptions extends ServiceOptions {
  mapping?: string;
  /** In seconds. */
  settle: number;
  once?: boolean;
}

/** Where records go, and how. */
interface Target {
  url: URL;
  key: string;
  mapping: string | undefined;
}

/** The report of a file, as it is written to a file. */
interface FileReport {
  file: string;
  sha256: string;
  format: ImportedFile['format'];
  finished_at: string;
  accepted: number;
  rejected: number;
  /** Why the file was not imported, or not as a whole. */
  problem?: string;
}

/** `chartledger watch` */
async function watch(path: string, options: WatchOptions, command: Command): Promise<void> {
  const { mapping, settle, once: isOnce = false } = options;
  const url = requireUrl(command, options.url);
  const target = { url, key: await requireKey(command, options.keyFile), mapping };
  const folder = await DropFolder.open(path, settle);
  await untilInterrupted(async (signal) => {
    for (;;) {
      for (const claim of await folder.abandoned(Date.now())) await take(folder, claim, target, signal);
      try {
        for await (const claim of folder.complete(Date.now(), isOnce))
          await take(folder, claim, target, signal);
      } catch (error) {
        noteDelay('A file', error);
      }
      if (isOnce) return;
      await sleep(POLL_MS, undefined, { signal });
    }
  });
}

/**
 * Imports a file and moves it to `done` or `failed`; where something is in the way that may be gone later, it stays where it is. Rejects
 * when nothing is accepted at all, and with an `AbortError` after the signal.
 */
async function take(folder: DropFolder, claim: Claim, target: Target, signal: AbortSignal): Promise<void> {
  const alive = setInterval(() => void folder.touch(claim), POLL_MS);
  try {
    const report = await importClaim(claim, target, signal);
    const isWhole = report.problem === undefined && report.rejected === 0;
    writeDurably(join(claim.folder, ownNames.report), `${JSON.stringify(report, undefined, 2)}\n`, false);
    const { report: own, rejects, warnings } = ownNames;
    const reports = { 'report.json': own, 'rejected.ndjson': rejects, 'warnings.ndjson': warnings };
    await folder.finish(claim, isWhole ? 'done' : 'failed', reports);
    const { accepted, rejected, problem } = report;
    writeLine(
      `${claim.id}: ${accepted} accepted, ${rejected} rejected${problem === undefined ? '' : `; ${problem}`}`,
    );
    if (!isWhole) terminal().exitCode = FAILED;
  } catch (error) {
    if (signal.aborted || error instanceof NothingAccepted) throw error;
    noteDelay(claim.id, error);
  } finally {
    clearInterval(alive);
    folder.release(claim);
  }
}

/** Says why something waits, without the names of files, which may be those of patients; throws any other error again. */
function noteDelay(what: string, error: unknown): void {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (!(error instanceof ImportDelayed) && syscall === undefined) throw error;
  const reason = error instanceof ImportDelayed ? error.message : `${code} (${syscall}).`;
  terminal().stderr.write(`${what} waits: ${reason}\n`);
  terminal().exitCode = FAILED;
}

async function importClaim(
  { id, folder, name }: Claim,
  target: Target,
  signal: AbortSignal,
): Promise<FileReport> {
  const path = join(folder, name);
  let sha256 = '';
  let format: ImportedFile['format'] = 'fhir';
  let counts = { accepted: 0, rejected: 0 };
  let problem: string | undefined;
  try {
    // Whatever an attempt before this one has sent changes nothing when it is sent again.
    for (const own of Object.values(ownNames)) await rm(join(folder, own), { force: true });
    const before = await lstat(path);
    sha256 = await digestOf(path);
    format = await formatOf(path);
    counts = await send(path, format, folder, target, signal);
    const isChanged = signature(await lstat(path)) !== signature(before) || (await digestOf(path)) !== sha256;
    if (isChanged) problem = 'The file was changed while it was read. Drop it again when it is complete.';
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    const isUnreadable = syscall !== undefined && (code === 'EACCES' || code === 'EPERM');
    if (error instanceof ImportDelayed || error instanceof NothingAccepted) throw error;
    if (!(error instanceof ImportError) && !isUnreadable) throw error;
    problem = isUnreadable ? `The file cannot be read (${code}).` : (error as Error).message;
  }
  const { accepted, rejected } = counts;
  if (sha256 !== '') {
    const file = { sha256, format, origin: 'folder', accepted, rejected } as const;
    await recordImportedFile(target, file, id, signal);
  }
  const finished_at = new Date().toISOString();
  return {
    file: name,
    sha256,
    format,
    finished_at,
    accepted,
    rejected,
    ...(problem !== undefined && { problem }),
  };
}

async function send(
  path: string,
  format: ImportedFile['format'],
  folder: string,
  { url, key, mapping }: Target,
  signal: AbortSignal,
): Promise<{ accepted: number; rejected: number }> {
  const rejectFile = join(folder, ownNames.rejects);
  if (format === 'hl7v2') {
    const client = new ImportClient({
      ...{ url, key, userAgent: `chartledger-watch/${version}`, stop: signal, abandon: signal },
      onWait: (reason) => terminal().stderr.write(`Waiting: ${reason}.\n`),
    });
    return sendMessages(path, client, rejectFile);
  }
  if (format === 'csv' && mapping === undefined) {
    throw new ImportError(
      'A CSV file needs a mapping. Start the command with --mapping, and drop the file again.',
    );
  }
  const how = format === 'csv' ? { mapping: String(mapping) } : { format };
  const warningFile = join(folder, ownNames.warnings);
  const stateFile = join(folder, ownNames.state);
  return importFile(
    path,
    { url, key, ...how, unchanged: 'skip', rejectFile, warningFile, stateFile },
    signal,
  );
}

/** Returns the format of a file by its name; lines of JSON are FHIR unless they are `{"kind": …}`. */
async function formatOf(path: string): Promise<ImportedFile['format']> {
  if (/\.hl7$/i.test(path)) return 'hl7v2';
  if (/\.csv$/i.test(path)) return 'csv';
  if (/\.json$/i.test(path)) return 'fhir';
  for await (const { text } of readLines(path, FIRST_LINE_BYTES)) {
    const line = parseJson(text);
    return typeof line === 'object' && line !== null && 'kind' in line ? 'ndjson' : 'fhir';
  }
  return 'fhir';
}

async function digestOf(path: string): Promise<string> {
  const digest = createHash('sha256');
  await pipeline(createReadStream(path), digest);
  return digest.digest('hex');
}

/** `chartledger watch` */
export function addWatchCommand(program: Command): void {
  const command = program
    .command('watch')
    .description(
      'Import the files that are dropped into a folder: HL7 v2 (*.hl7), FHIR (*.ndjson, *.ndjson.gz, *.json), lines of ' +
        '{"kind": "patient", "record": {…}} (*.ndjson) and CSV with a mapping (*.csv). Each file is imported once and moved to done or ' +
        'failed, together with a report.',
    )
    .argument('<folder>', 'the folder that files are dropped into')
    .option('--mapping <file>', 'a JSON file that maps the columns of CSV files')
    .option(
      '--settle <time>',
      'how long a file must not have changed to count as complete (default: "10s")',
      parseDuration,
      10,
    )
    .option('--once', 'import what is there, and end');
  addServiceOptions(command, 'write')
    .addHelpText(
      'after',
      example(
        'export CHARTLEDGER_API_KEY=clk_…',
        'chartledger watch /srv/sftp/emr',
        'chartledger watch drop --mapping ours.json --once',
      ),
    )
    .action(watch);
}

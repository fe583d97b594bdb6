import { closeSync, fchmodSync, fstatSync, fsyncSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import { gzip as gzipWithCallback } from 'node:zlib';
import { SingleBar } from 'cli-progress';
import { parseJson } from '../../../domain/events/event.ts';
import type { FieldMessage } from '../../../platform/errors.ts';
import { terminal } from '../../../server/terminal.ts';
import { type Answer, type ImportClient, refusedBatch, wholeAnswer } from './client.ts';
import {
  chunks,
  type DocumentFolder,
  ImportDelayed,
  type ImportSource,
  oneAhead,
  type Row,
  type SourceRecord,
} from './source.ts';
import {
  type BatchAnswer,
  type ImportState,
  type ImportTally,
  type OutcomeCounts,
  type RowResult,
  type RowSender,
  rowResultSchema,
  type SendResult,
} from './state.ts';

const gzip = promisify(gzipWithCallback);

/** Returns the body of a request that sends rows. */
export async function zippedLines(rows: readonly Row[]): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await gzip(rows.map(({ line }) => line).join(''), { level: 1 }));
}

/** Sends rows through `POST /integration/batch`. */
export class BatchSender implements RowSender {
  readonly #client: ImportClient;
  readonly #path: string;

  /** With `unchanged` set to `skip`, unchanged records get no new version. */
  constructor(client: ImportClient, unchanged: 'skip' | undefined) {
    this.#client = client;
    this.#path = `/integration/batch${unchanged ? `?unchanged=${unchanged}` : ''}`;
  }

  lineOf({ kind, record }: SourceRecord): string {
    return `${JSON.stringify({ kind, record })}\n`;
  }

  /** The same rows are written only once under the same key. Rejects as `ImportClient.send` does. */
  async send(rows: readonly Row[], idempotencyKey: string): Promise<BatchAnswer> {
    const body = await zippedLines(rows);
    const headers = { 'content-type': 'application/x-ndjson', 'content-encoding': 'gzip' };
    const sending = { path: this.#path, idempotencyKey, headers, body: () => body };
    return wholeAnswer(this.#client, sending, (answer) => {
      const results = this.#resultsIn(answer);
      return results?.length === rows.length ? { results, isRepeat: answer.isRepeat } : undefined;
    });
  }

  /** Returns the results in an answer; undefined if it was cut off. Throws `ImportError`. */
  #resultsIn(answer: Answer): RowResult[] | undefined {
    const { status, text } = answer;
    if (status !== 200) throw refusedBatch(this.#client, answer);
    const lines = text.split('\n').map(parseJson);
    const results: RowResult[] = [];
    for (const line of lines) {
      if (typeof line === 'object' && line !== null && 'summary' in line) return results;
      if (line === undefined) return results.length === 0 ? this.#stranger(status) : undefined;
      const { data: result } = rowResultSchema.safeParse(line);
      if (result === undefined) return this.#stranger(status);
      results.push(result);
    }
    return undefined;
  }

  #stranger(status: number): never {
    throw this.#client.stranger(status);
  }
}

/** What an import sends, with what, and where it reports. */
export interface ImportJob {
  /** Records; undefined if only documents are sent. */
  source: ImportSource | undefined;
  documents: DocumentFolder | undefined;
  client: ImportClient;
  batches: RowSender;
  state: ImportState;
  tally: ImportTally;
  rejects: ReportFile<RejectLine>;
  warnings: ReportFile<WarningLine>;
  progress: Progress;
  /** Aborted, with the reason, when it is pointless to continue; the caller may abort it too. */
  stop: AbortController;
}

/** A record or document, for reports. */
interface Subject {
  kind: string;
  source: string;
  id: unknown;
}

/** Counts the result of a record or document, and lists it if there is something to report. */
export function recordResult(
  { rejects, warnings, tally }: ImportJob,
  subject: Subject,
  result: SendResult,
): void {
  if (!result.accepted) {
    const { status, error, details } = result;
    rejects.write({ ...subject, status, error, ...(details !== undefined && { details }) });
  } else if (result.warnings.length > 0) warnings.write({ ...subject, warnings: result.warnings });
  tally.add(subject.kind, result);
}

/** Saves the progress of the import, with everything counted until then. */
export function note(
  { state, rejects, warnings, tally }: ImportJob,
  progress: { rows?: number; left?: number[] | undefined; round?: number; documents?: number },
): void {
  state.note({
    ...progress,
    tally: tally.snapshot(),
    rejects: rejects.settle(),
    warnings: warnings.settle(),
  });
}

interface ReportLine {
  kind: string | null;
  /** Where it was read: `encounters.csv:12`. */
  source: string;
  id: unknown;
}

/** A record that was refused, and why; the record itself stays where it was read. */
interface RejectLine extends ReportLine {
  /** HTTP status; null when there was no response, or nothing to send. */
  status: number | null;
  error: string;
  details?: unknown;
}

/** A record that was accepted with warnings. */
interface WarningLine extends ReportLine {
  warnings: FieldMessage[];
}

/** A report, up to the progress of an import. */
interface ReportPlace {
  path: string;
  /** In bytes. */
  size: number;
}

const OWNER_ONLY = 0o600;

/** A file of lines about records, NDJSON. It is created with the first line, accessible only to its owner: ids are PHI. */
export class ReportFile<Line extends ReportLine> {
  readonly path: string;
  #size: number;
  #descriptor: number | undefined;

  /** Lines after the place were written by an interrupted import before it saved its progress: they are removed. */
  constructor({ path, size }: ReportPlace) {
    this.path = path;
    this.#size = size;
  }

  /** Whether anything was written. */
  get written(): boolean {
    return this.#size > 0;
  }

  /** Appends a line. Throws `ImportError` when that fails. */
  write(line: Line): void {
    this.#trying(() => {
      this.#descriptor ??= this.#open();
      this.#size += writeSync(this.#descriptor, `${JSON.stringify(line)}\n`, this.#size);
    });
  }

  /** Makes what was written durable; returns how far it extends. Throws `ImportError` when that fails. */
  settle(): ReportPlace {
    const descriptor = this.#descriptor;
    if (descriptor !== undefined) this.#trying(() => fsyncSync(descriptor));
    return { path: this.path, size: this.#size };
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
  }

  #trying(work: () => void): void {
    try {
      work();
    } catch (error) {
      const { code } = error as { code?: string };
      throw new ImportDelayed(`The file ${this.path} cannot be written (${code}).`);
    }
  }

  #open(): number {
    const descriptor = this.#size > 0 ? this.#reopen() : openSync(this.path, 'w', OWNER_ONLY);
    fchmodSync(descriptor, OWNER_ONLY);
    return descriptor;
  }

  /** Opens the existing file, truncated to the size; one that was removed in the meantime starts afresh. */
  #reopen(): number {
    const descriptor = openSync(this.path, 'a+', OWNER_ONLY);
    closeSync(descriptor);
    const again = openSync(this.path, 'r+');
    this.#size = Math.min(this.#size, fstatSync(again).size);
    ftruncateSync(again, this.#size);
    return again;
  }
}

/** How an import shows its progress, on standard error. */
interface Progress {
  /** Sets the total number of rows and documents, and how many of them were done before. */
  start(total: number, done: number): void;
  /** Adds to the number done. */
  advance(count: number): void;
  /** Prints why the import is waiting. */
  wait(reason: string): void;
  stop(): void;
}

/** A bar on a terminal; elsewhere only the first of several waits for the same reason is reported. */
export function createProgress(onTerminal: boolean): Progress {
  return onTerminal ? barProgress() : plainProgress();
}

/** Returns the pace, and the time left: `2,400/s, 3 min left`. */
export function paceText(sent: number, seconds: number, left: number): string {
  if (sent === 0 || seconds <= 0) return '';
  const perSecond = sent / seconds;
  const rate = perSecond >= 10 ? Math.round(perSecond).toLocaleString('en') : perSecond.toFixed(1);
  return `${rate}/s, ${durationText(left / perSecond)} left`;
}

function durationText(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 90 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function barProgress(): Progress {
  const bar = new SingleBar({
    format: '{bar} {value}/{total} {pace}{note}',
    barsize: 30,
    stream: terminal().stderr as NodeJS.WritableStream,
    hideCursor: true,
  });
  let sent = 0;
  let startedAt = performance.now();
  let left = 0;
  return {
    start(total, done) {
      startedAt = performance.now();
      left = total - done;
      bar.start(total, done, { pace: '', note: '' });
    },
    advance(count) {
      sent += count;
      left -= count;
      const pace = paceText(sent, (performance.now() - startedAt) / 1000, left);
      bar.increment(count, { pace, note: '' });
    },
    wait: (reason) => bar.update({ note: ` (${reason})` }),
    stop: () => bar.stop(),
  };
}

function plainProgress(): Progress {
  let told = '';
  const nothing = () => undefined;
  return {
    start: nothing,
    advance: nothing,
    wait(reason) {
      const subject = reason.split(';')[0] as string;
      if (subject !== told) terminal().stderr.write(`Waiting: ${reason}.\n`);
      told = subject;
    },
    stop: nothing,
  };
}

/**
 * Sends the records of a source, continuing from the import's progress. Rejects with `ImportError`, or an `AbortError` after
 * `stop`.
 */
export async function sendRecords(
  job: ImportJob,
  source: ImportSource,
  totals: ReadonlyMap<string, number>,
): Promise<void> {
  const lots = chunks(source, totals, job.state.progress.rows, (item) => job.batches.lineOf(item));
  for await (const rows of oneAhead(lots)) await sendChunk(job, rows);
}

/**
 * Sends the rows of a chunk until each is accepted or refused. Which of them are sent, and under which key, is saved first: if
 * the process is killed, there is no doubt, and the next one sends the same again.
 */
async function sendChunk(job: ImportJob, chunk: readonly Row[]): Promise<void> {
  const { state, client, batches } = job;
  let failures = 0;
  let unanswered = chunk.length;
  for (;;) {
    const { run, rows, round, left = [...chunk.keys()] } = state.progress;
    const sent = left.map((index) => ({ index, row: chunk[index] as Row }));
    const key = `import-${run}-${rows}-${round}`;
    const { results, counts, isRepeat } = await batches.send(
      sent.map(({ row }) => row),
      key,
    );
    const answered = sent.map((each, index) => ({ ...each, result: results[index] as RowResult }));
    const again = answered.filter(({ result }) => isToBeSentAgain(result, results));
    const isLimited = again.every(({ result }) => result.status === 429 || !result.retryable);
    // Only for a first try is it certain that what was refused was not written: anything else keeps its key.
    const isPart = isLimited && !isRepeat;
    failures = isPart || again.length < unanswered ? 0 : failures + 1;
    unanswered = again.length;
    const isGivenUp = failures === client.retries.attempts;
    if (isGivenUp && again.length === chunk.length) throw client.away(`status ${again[0]?.result.status}`);
    if (again.length === 0 || isGivenUp) {
      recordRowResults(job, answered, counts);
      return note(job, { rows: rows + chunk.length, left: undefined, round: 0 });
    }
    if (isPart) {
      recordRowResults(
        job,
        answered.filter((each) => !again.includes(each)),
        counts,
      );
      note(job, { left: again.map(({ index }) => index), round: round + 1 });
    }
    if (isLimited) await client.pause(Math.max(...again.map(({ result }) => result.retryAfter ?? 1)));
    else await client.delay(failures + 1, 'a store is unavailable');
  }
}

function recordRowResults(
  job: ImportJob,
  answered: readonly { row: Row; result: RowResult }[],
  counts: OutcomeCounts | undefined,
): void {
  if (counts) job.tally.addOutcomes(counts);
  for (const { row, result } of answered) recordRowResult(job, row, result);
  job.progress.advance(answered.length);
}

/** What a row refers to may be among those that are to be sent again. */
function isToBeSentAgain({ retryable, code }: RowResult, all: readonly RowResult[]): boolean {
  return retryable || (code === 'reference_not_found' && all.some((result) => result.retryable));
}

function recordRowResult(job: ImportJob, { item }: Row, result: RowResult): void {
  const { kind, source, record, warnings = [] } = item;
  recordResult(job, { kind, source, id: record.id ?? null }, sendResult(result, warnings));
}

function sendResult(result: RowResult, remarks: RowResult['warnings']): SendResult {
  const { status, outcome = '', warnings, error, details, retryable } = result;
  if (status === 200) return { accepted: true, outcome, warnings: [...remarks, ...warnings] };
  const told = retryable ? `Given up after several attempts: ${error}` : error;
  return { accepted: false, status, error: told, ...(details !== undefined && { details }) };
}

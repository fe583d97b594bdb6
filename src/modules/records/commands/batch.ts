import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError, unavailable } from '../../../platform/errors.ts';
import { isUnavailable } from '../../../platform/retry.ts';
import type { Append, Appended } from '../../../storage/eventLog.ts';
import type { RateLimiter } from '../../../storage/rateLimiters.ts';
import { findPreviousAppend } from '../../idempotency/keys.ts';
import { projectedStates } from '../queries/records.ts';
import {
  type AnswerLine,
  type BatchContext,
  type BatchLine,
  dependencyOrder,
  eachStream,
  grantLines,
  type LineSubject,
  ParsedOperation,
  PendingCreates,
  subjectOf,
  TimeSlicer,
} from './batchOrder.ts';
import { GROUP } from './foreseen.ts';
import { problemOf } from './references.ts';
import {
  conditionNotMet,
  isNewRecord,
  type RecordStates,
  upsertBlindly,
  upsertIfChanged,
  writtenBlindly,
} from './upsert.ts';

/** How often the append of a group is tried while a store is unreachable, and the pause between tries, in milliseconds. */
const MOST_TRIES = 3;
const PAUSE_MS = 500;

/** Carries out groups of a batch's lines, each as `upsertRecord` would, and reports the result of every line once. */
class GroupWriter {
  readonly #context: BatchContext;
  readonly #foreseen = new PendingCreates();
  /** Whether each line is judged against the current state of its record. */
  readonly #isJudged: boolean;
  /** The streams of lines that an earlier try of the batch stored. */
  readonly #stored = new Set<string>();
  /** Why the remaining lines are not tried: the store was found to be unreachable. */
  #away: ServiceError | undefined;

  constructor(context: BatchContext) {
    this.#context = context;
    const { dryRun, unchanged } = context.options;
    this.#isJudged = dryRun === true || unchanged === 'skip';
  }

  /** Stops: lines not appended by then get this error. */
  stop(reason: ServiceError): void {
    this.#away ??= reason;
  }

  /**
   * For a repeat: returns the lines of a group that no earlier try has stored; reports the results of the others. Groups must
   * come from the last to the first: a line is refused if a later one of its record was stored, whose fields it would undo.
   */
  async unstored(lines: readonly BatchLine[]): Promise<BatchLine[]> {
    const valid = await this.#readAll(lines);
    const left = new Set<BatchLine>();
    await eachStream(valid.toReversed(), async (one) => {
      try {
        if (await this.#isStored(one)) this.#stored.add(one.stream);
        else if (this.#stored.has(one.stream)) throw superseded();
        else left.add(one.line);
      } catch (error) {
        if (isGone(error)) this.#stored.add(one.stream);
        this.#refuse([one], error);
      }
    });
    return lines.filter((line) => left.has(line));
  }

  /** Returns the lines of a group that are to be written; reports the results of the others. */
  async accept(lines: readonly BatchLine[]): Promise<ParsedOperation[]> {
    const valid = await this.#readAll(lines);
    const missing = await this.#missing(valid);
    return missing ? valid.filter((line) => this.#isAccepted(line, missing)) : [];
  }

  /** Writes the lines of a group, and reports their results. */
  async write(lines: readonly ParsedOperation[]): Promise<void> {
    if (this.#away) this.#refuse(lines, this.#away);
    else if (this.#isJudged) await this.#judgeAll(lines);
    else await this.#append(lines);
  }

  async #readAll(lines: readonly BatchLine[]): Promise<ParsedOperation[]> {
    const { slices } = this.#context;
    const valid: ParsedOperation[] = [];
    for (const line of lines) {
      if (slices.isOver) await slices.next();
      const read = this.#read(line);
      if (read) valid.push(read);
    }
    return valid;
  }

  #read(line: BatchLine): ParsedOperation | undefined {
    let value: unknown;
    try {
      value = line.read();
      if (this.#away) throw this.#away;
      return new ParsedOperation(this.#context, line, value);
    } catch (error) {
      this.#context.answer(line, { ...subjectOf(value), error });
      return undefined;
    }
  }

  /** Whether an earlier try stored a line; if so, reports its result. */
  async #isStored(valid: ParsedOperation): Promise<boolean> {
    const { ports, eventId } = this.#context;
    const earlier = { eventId: eventId(valid.line), appended: false };
    const found = await findPreviousAppend(ports.eventLog, valid.stream, { earlier });
    if (found === undefined) return false;
    const { revision, position } = found;
    await this.#accepted(valid, { revision, position, erased: true }, true);
    return true;
  }

  /**
   * Returns what does not exist of everything the lines depend on; undefined if that cannot be determined, in which case all
   * lines have been refused.
   */
  async #missing(lines: readonly ParsedOperation[]): Promise<Set<string> | undefined> {
    const { existence } = this.#context.ports;
    const asked = new Set<string>();
    const ask = (stream: string) => {
      if (!existence.isKnown(stream)) asked.add(stream);
    };
    for (const { references, operation, stream } of lines) {
      for (const reference of references) if (!this.#isForeseen(reference.stream)) ask(reference.stream);
      if (operation.condition !== 'any' && !this.#isJudged && !this.#foreseen.has(stream)) ask(stream);
    }
    try {
      return asked.size === 0 ? asked : await existence.missing([...asked]);
    } catch (error) {
      this.#refuse(lines, error);
      return undefined;
    }
  }

  /** Whether a dry run would have written a record by now; a real run has. */
  #isForeseen(stream: string): boolean {
    return this.#context.options.dryRun === true && this.#foreseen.has(stream);
  }

  #isAccepted(valid: ParsedOperation, missing: ReadonlySet<string>): boolean {
    const { operation, stream, references } = valid;
    const isAbsent = missing.has(stream) && !this.#foreseen.has(stream);
    const refusal =
      (missing.size > 0 ? problemOf(references, missing) : undefined) ??
      (operation.condition !== 'any' && isAbsent && !this.#isJudged ? conditionNotMet('record') : undefined);
    if (refusal) this.#refuse([valid], refusal);
    else this.#foreseen.add(stream);
    return refusal === undefined;
  }

  async #append(lines: readonly ParsedOperation[]): Promise<void> {
    const { ports, caller } = this.#context;
    if (ports.returns.areAllowed(caller.workspace)) return this.#appendAll(lines, { isFree: true });
    // A line whose record may have been erased is written after the others, and with it the later ones of its record.
    const begun = new Set<string>();
    const isTogether = ({ stream, operation }: ParsedOperation) => {
      const isFirst = !begun.has(stream);
      begun.add(stream);
      return ports.existence.isKnown(stream) || (isFirst && operation.condition === 'any');
    };
    const together = new Set(lines.filter(isTogether));
    await this.#appendAll([...together], { isFree: false });
    await eachStream(
      lines.filter((line) => !together.has(line)),
      (line) => this.#write(line),
    );
  }

  /** Appends lines in one group; `isFree`: whether records that were erased return. */
  async #appendAll(lines: readonly ParsedOperation[], { isFree }: { isFree: boolean }): Promise<void> {
    const { ports, slices } = this.#context;
    const mayBeErased = lines.map(
      ({ operation, stream }) => operation.condition === 'any' && !ports.existence.isKnown(stream),
    );
    const appends: Append[] = [];
    for (const [index, line] of lines.entries()) {
      if (slices.isOver) await slices.next();
      appends.push(toAppend(line, { isNew: !isFree && (mayBeErased[index] as boolean) }));
    }
    const results = await this.#appendEach(appends);
    for (const [index, line] of lines.entries()) {
      if (slices.isOver) await slices.next();
      const result = results[index] as Appended | ServiceError;
      const isThere = result instanceof ServiceError && result.code === 'version_conflict';
      if (isThere && !isFree && mayBeErased[index]) await this.#write(line);
      else if (result instanceof ServiceError) this.#refuse([line], result);
      else {
        const answering = this.#accepted(line, result, mayBeErased[index] as boolean);
        if (answering) await answering;
      }
    }
  }

  /** Retries while a store is briefly unreachable, as when a cluster elects its leader: an event is still written only once. */
  async #appendEach(appends: readonly Append[]): Promise<(Appended | ServiceError)[]> {
    const { eventLog } = this.#context.ports;
    const results = await eventLog.appendEach(appends);
    for (let tries = 1; tries < MOST_TRIES && !this.#away; tries += 1) {
      const open = appends.filter((_, index) => isUnavailable(results[index]));
      if (open.length === 0) break;
      await sleep(PAUSE_MS);
      const later = (await eventLog.appendEach(open)).values();
      for (const [index, result] of results.entries())
        if (isUnavailable(result)) results[index] = later.next().value as Appended | ServiceError;
    }
    return results;
  }

  /** Writes a line whose record may exist, or have been erased. */
  async #write(valid: ParsedOperation): Promise<void> {
    const { ports, answer } = this.#context;
    const { line, subject, operation } = valid;
    if (this.#away) return this.#refuse([valid], this.#away);
    try {
      const { condition } = operation;
      answer(line, { ...subject, written: await upsertBlindly(ports, valid, { condition }) });
    } catch (error) {
      this.#refuse([valid], error);
    }
  }

  /**
   * Reports the result of a line whose event is durable; returns a promise only when the stream must be read to see what came
   * before.
   */
  #accepted(valid: ParsedOperation, appended: Appended, mayBeErased: boolean): void | Promise<void> {
    const { ports, answer } = this.#context;
    ports.existence.remember(valid.stream);
    const { line, subject } = valid;
    const written = (isNew: boolean) =>
      answer(line, { ...subject, written: writtenBlindly(valid, appended.revision, isNew) });
    if (!appended.erased) return written(appended.revision === 0);
    return isNewRecord(ports.eventLog, valid.stream, appended, mayBeErased).then(written, (error) =>
      this.#refuse([valid], error),
    );
  }

  /** Carries out lines against the current states of their records. */
  async #judgeAll(lines: readonly ParsedOperation[]): Promise<void> {
    const { ports, options } = this.#context;
    const states: RecordStates = options.states ?? new Map();
    const unread = [...new Set(lines.map(({ stream }) => stream))].filter((stream) => !states.has(stream));
    try {
      // One look at the end of the log instead of a read of each stream.
      const read = unread.length > 1 ? await projectedStates(ports, unread) : [];
      for (const [stream, state] of read) states.set(stream, state);
    } catch (error) {
      this.#refuse(lines, error);
      return;
    }
    await eachStream(lines, (line) => this.#judge(line, states));
  }

  async #judge(valid: ParsedOperation, states: RecordStates): Promise<void> {
    const { ports, options, answer } = this.#context;
    const { line, subject, operation } = valid;
    if (this.#away) {
      this.#refuse([valid], this.#away);
      return;
    }
    try {
      const written = await upsertIfChanged(ports, valid, {
        ...options,
        states,
        condition: operation.condition,
      });
      answer(line, { ...subject, written });
    } catch (error) {
      this.#refuse([valid], error);
    }
  }

  #refuse(lines: readonly ParsedOperation[], error: unknown): void {
    if (isUnavailable(error)) this.#away ??= error;
    for (const { line, subject } of lines) this.#context.answer(line, { ...subject, error });
  }
}

/** The error for a line that was refused before, while a later one of its record was stored. */
function superseded(): ServiceError {
  return new ServiceError('conflict', 'A later line of this record is already stored.');
}

function isGone(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'gone';
}

function toAppend(valid: ParsedOperation, { isNew }: { isNew: boolean }): Append {
  const { stream, sent, operation } = valid;
  const expected = isNew ? 'none' : operation.condition === 'exists' ? 'any' : operation.condition;
  return { stream, event: valid.newEvent(sent), expected };
}

/** What a batch runs with, besides its lines. */
export interface BatchRun extends Omit<BatchContext, 'slices'> {
  /** Counts a workspace's lines; undefined when they are not limited. */
  limiter: RateLimiter | undefined;
  /** Ends the batch early: the remaining lines fail with `unavailable`. */
  stopping: AbortSignal;
}

/**
 * Carries out the lines of a batch in any order: those that others refer to come first. The result of every line is reported
 * once, as `upsertRecord` would have returned it; when it is reported as accepted, its event is durable. A refused line does not
 * stop the others; once the store is unreachable the rest fail with `unavailable`.
 */
export async function runBatch(lines: readonly BatchLine[], run: BatchRun): Promise<void> {
  const slices = new TimeSlicer();
  const writer = new GroupWriter({ ...run, slices });
  const stop = () => writer.stop(unavailable('service'));
  run.stopping.addEventListener('abort', stop);
  if (run.stopping.aborted) stop();
  try {
    const steps = await dependencyOrder(lines, slices);
    if (run.isRepeat) await removeStored(writer, steps);
    const wanted = steps.reduce((sum, { length }) => sum + length, 0);
    const granted = await grantLines(run.limiter, run.caller.workspace, wanted);
    let left = granted.count;
    for (const step of steps) {
      await writeStep(writer, step.slice(0, left));
      await refuse(step.slice(left), granted.refusal, run.answer, slices);
      left = Math.max(0, left - step.length);
    }
  } finally {
    run.stopping.removeEventListener('abort', stop);
  }
}

/** Leaves the lines that no earlier try of the batch has stored, from the last to the first; reports the results of the others. */
async function removeStored(writer: GroupWriter, steps: BatchLine[][]): Promise<void> {
  for (const [at, lines] of [...steps.entries()].reverse()) {
    const left: BatchLine[][] = [];
    for (let end = lines.length; end > 0; end -= GROUP)
      left.push(await writer.unstored(lines.slice(Math.max(0, end - GROUP), end)));
    steps[at] = left.reverse().flat();
  }
}

/** Carries out lines that do not refer to each other; the next group is checked while one is being written. */
async function writeStep(writer: GroupWriter, lines: readonly BatchLine[]): Promise<void> {
  let writing: Promise<void> | undefined;
  for (let at = 0; at < lines.length; at += GROUP) {
    const accepted = await writer.accept(lines.slice(at, at + GROUP));
    await writing;
    writing = writer.write(accepted);
    // It is awaited later, and may fail before that.
    writing.catch(() => undefined);
  }
  await writing;
}

/** Reports lines that are not carried out. */
async function refuse(
  lines: readonly BatchLine[],
  error: unknown,
  answer: AnswerLine,
  slices: TimeSlicer,
): Promise<void> {
  for (const line of lines) {
    if (slices.isOver) await slices.next();
    answer(line, { ...subjectIn(line), error });
  }
}

function subjectIn(line: BatchLine): LineSubject {
  try {
    return subjectOf(line.read());
  } catch {
    return subjectOf(undefined);
  }
}

import type { Logger } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../../domain/events/newEvent.ts';
import type { RefusedLine, RefusedLines } from '../../domain/events/payloads.ts';
import { catalog } from '../../domain/records/catalog.ts';
import type { FieldFault } from '../../domain/records/schema/faults.ts';
import { type AccessRecorded, recordFurtherAccess } from '../../modules/audit/recordAccess.ts';
import { deterministicEventId } from '../../modules/idempotency/keys.ts';
import { StoredResponse } from '../../modules/idempotency/reservations.ts';
import { runBatch } from '../../modules/records/commands/batch.ts';
import type { BatchContext, BatchLine, LineResult } from '../../modules/records/commands/batchOrder.ts';
import type { WritePorts } from '../../modules/records/commands/upsert.ts';
import { describeError, type ErrorCode, type ServiceError } from '../../platform/errors.ts';
import { measurements } from '../../platform/metrics/metrics.ts';
import { type BudgetShare, FairBudget, WORKSPACE_AND_KEY } from '../../platform/threads/fairBudget.ts';
import type { RateLimiter, RateLimiters } from '../../storage/rateLimiters.ts';
import { batchLineSchema } from '../schemas/batch.ts';
import { fieldNames } from '../schemas/endpoint.ts';
import {
  asServiceError,
  fieldFaults,
  internalError,
  isRetryable,
  logFailure,
  MAX_FIELDS,
  statusOf,
} from '../server/answer.ts';
import { type IdempotencyPorts, markReplayed, payloadOf, reserve } from '../server/idempotency.ts';
import { overloaded, ownersOf } from '../server/loadShedder.ts';
import type { RequestContext } from '../server/requestContext.ts';
import { MAX_BATCH_BYTES } from './batchParser.ts';

/** Faults in a record are reported by its own field names. */
export const recordFields: ReadonlySet<string> = new Set(
  [batchLineSchema, ...catalog.map(({ schema }) => schema)].flatMap(fieldNames),
);

/** Refused lines that are kept one by one, and the faults of each. */
const MOST_LINES = 10;
const MOST_FAULTS = 5;

/** Counts the outcomes of a batch's lines. */
export class BatchTally {
  readonly #lines: number;
  readonly #outcomes = { created: 0, updated: 0, unchanged: 0 };
  #skipped = 0;
  readonly #codes = new Map<ErrorCode, number>();
  readonly #fields = new Map<string, number>();
  #first: RefusedLine[] = [];

  readonly #known: ReadonlySet<string>;

  /** `lines`: the number of lines. `known`: the names of fields that may be kept. */
  constructor(lines: number, known = recordFields) {
    this.#lines = lines;
    this.#known = known;
  }

  /** `line`: its number, counted from 1. */
  count(result: LineResult, line: number): void {
    if ('written' in result) {
      this.#outcomes[result.written.outcome] += 1;
      if (result.written.isSkipped) this.#skipped += 1;
      return;
    }
    const { code, details } = asServiceError(result.error);
    addOne(this.#codes, code);
    const faults = fieldFaults(details, this.#known);
    for (const { field } of faults) addOne(this.#fields, field);
    if (statusOf[code] < 500) this.#keep({ line, ...subjectOf(result), code, faults });
  }

  #keep({ faults, ...line }: RefusedLine & { faults: FieldFault[] }): void {
    const kept = { ...line, ...(faults.length > 0 && { faults: faults.slice(0, MOST_FAULTS) }) };
    // Lines are answered in no particular order.
    this.#first = [...this.#first, kept].sort((a, b) => a.line - b.line).slice(0, MOST_LINES);
  }

  /** The last line of the response. */
  get summary() {
    const { created, updated, unchanged } = this.#outcomes;
    const codes = [...this.#codes];
    const sum = (counted: typeof codes) => counted.reduce((total, [, count]) => total + count, 0);
    return {
      lines: this.#lines,
      accepted: created + updated + unchanged,
      created,
      updated,
      unchanged,
      refused: sum(codes),
      retryable: sum(codes.filter(([code]) => isRetryable(code))),
      codes: Object.fromEntries(codes) as Partial<Record<ErrorCode, number>>,
    };
  }

  /** The number of records that got no event because nothing changed. */
  get skipped(): number {
    return this.#skipped;
  }

  /**
   * What was refused for its own reasons rather than the service's, and the most frequent code; undefined where
   * nothing was.
   */
  get refusal(): { code: ErrorCode; lines: RefusedLines } | undefined {
    const refused = byCount(this.#codes).filter(([code]) => statusOf[code] < 500);
    const [mostly] = refused;
    if (mostly === undefined) return undefined;
    const fields = byCount(this.#fields).slice(0, MAX_FIELDS);
    return {
      code: mostly[0],
      lines: {
        sent: this.#lines,
        refused: Object.fromEntries(refused),
        ...(fields.length > 0 && { fields: Object.fromEntries(fields) }),
        first: this.#first,
      },
    };
  }
}

/** Returns the record of a line, where it has an id that a record can have. */
function subjectOf({ kind, id }: LineResult): Pick<RefusedLine, 'kind' | 'record_id'> {
  return { ...(kind !== null && { kind }), ...(kind !== null && id !== null && { record_id: id }) };
}

function addOne<Name>(counts: Map<Name, number>, name: Name): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

/** Sorts the most frequent first. */
function byCount<Name>(counts: ReadonlyMap<Name, number>): [Name, number][] {
  return [...counts].sort(([, a], [, b]) => b - a);
}

/** How long a batch that has arrived waits for a place. */
const WAIT_MS = 5_000;

interface BatchLimits {
  /** The number of batches at once. */
  concurrency: number;
  /** Counts the lines of workspaces; undefined where they are not limited. */
  lines: RateLimiter | undefined;
}

/** A batch that has arrived, and that waits for a place. */
interface Waiting {
  key: string;
  place: BudgetShare;
  begin(): void;
}

/** The batches under way. */
export class Batches {
  /**
   * For the bodies of batches, in bytes, until their response has left. Places come to those that have arrived, so that slow senders
   * take none.
   */
  readonly bodies: FairBudget;
  readonly lines: RateLimiter | undefined;
  readonly logger: Logger;
  /** A workspace has half of the places, rounded down, or one. */
  readonly #places: FairBudget;
  #waiting: Waiting[] = [];
  readonly #stopping = new AbortController();
  readonly #underWay = new Set<Promise<void>>();

  constructor({ concurrency, lines }: BatchLimits, logger: Logger) {
    this.bodies = new FairBudget((concurrency + 2) * MAX_BATCH_BYTES, WORKSPACE_AND_KEY);
    this.#places = new FairBudget(concurrency, [1]);
    this.lines = lines;
    this.logger = logger;
  }

  /** Aborts when whatever is under way has to finish. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /**
   * Resolves when a batch that has arrived may begin; it calls the returned function when it is over. Rejects with `overloaded` when
   * others take too long.
   */
  async enter(context: Pick<RequestContext, 'found'>): Promise<() => void> {
    const owners = ownersOf(context);
    const place = this.#places.share(owners);
    if (!place.reserve(1)) await this.#turn(owners[1] as string, place);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#underWay.add(promise);
    return () => {
      place.release();
      this.#underWay.delete(promise);
      resolve();
      this.#beginNext();
    };
  }

  /** Resolves when a waiting batch has its place. */
  async #turn(key: string, place: BudgetShare): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { key, place, begin: resolve };
    this.#waiting.push(waiting);
    const late = setTimeout(() => {
      this.#waiting = this.#waiting.filter((one) => one !== waiting);
      reject(overloaded('batches'));
    }, WAIT_MS);
    await promise.finally(() => clearTimeout(late));
  }

  /** Gives free places to those that wait; keys take turns. */
  #beginNext(): void {
    for (;;) {
      const next = this.#waiting.find(({ place }) => place.reserve(1));
      if (next === undefined) return;
      const others = this.#waiting.filter((one) => one !== next);
      const { false: first = [], true: last = [] } = Object.groupBy(
        others,
        ({ key }) => `${key === next.key}`,
      );
      this.#waiting = [...first, ...last];
      next.begin();
    }
  }

  /** Ends the batches under way; resolves when they are over. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#underWay);
  }
}

/** Creates `Batches` with these limits; a `batchLinesPerMinute` of 0 means no limit. */
export function openBatches(
  { batchConcurrency, batchLinesPerMinute }: { batchConcurrency: number; batchLinesPerMinute: number },
  limiters: RateLimiters,
  logger: Logger,
): Batches {
  const limit = { name: 'batch_lines', points: batchLinesPerMinute, seconds: 60 };
  const lines = batchLinesPerMinute === 0 ? undefined : limiters.limiter(limit);
  return new Batches({ concurrency: batchConcurrency, lines }, logger);
}

/** Characters of results waiting for earlier ones: beyond this they are kept short. */
const MAX_HELD = 64 * 1024 * 1024;
/** Characters handed over at once. */
const CHUNK = 64 * 1024;

/** Puts the results of lines into the order of the lines, as they arrive. */
export class OrderedResults {
  readonly #texts: (string | undefined)[];
  #next = 0;
  #held = 0;
  #end: string | undefined;
  #changed = Promise.withResolvers<void>();

  /** `count`: the number of lines. */
  constructor(count: number) {
    this.#texts = new Array(count).fill(undefined);
  }

  /** Takes the result of the line at an index, once; a short one, where too much is held. */
  add(index: number, text: (isShort: boolean) => string): void {
    const result = text(this.#held > MAX_HELD);
    this.#texts[index] = result;
    this.#held += result.length;
    if (index === this.#next) this.#wake();
  }

  /** Takes the text that follows the results, once all are there. */
  end(text: string): void {
    this.#end = text;
    this.#wake();
  }

  /** Yields the results in order, many together, and the text that follows them. */
  async *chunks(): AsyncGenerator<string> {
    for (;;) {
      const text = this.#drain();
      if (text !== '') yield text;
      else if (this.#end !== undefined) break;
      else await this.#changed.promise;
    }
    yield this.#end;
  }

  #drain(): string {
    let taken = '';
    for (; taken.length < CHUNK; this.#next += 1) {
      const text = this.#texts[this.#next];
      if (text === undefined) break;
      taken += text;
      this.#texts[this.#next] = undefined;
    }
    this.#held -= taken.length;
    return taken;
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

/**
 * One of possibly several tries of a batch: a later try with the same key answers for what an earlier one appended,
 * and continues.
 */
interface BatchTry {
  /** Returns the id of a line's event. */
  eventId(line: BatchLine): string;
  /** Whether an earlier try may have appended events. */
  isRepeat: boolean;
  /** To be called when every line is answered. */
  over(): Promise<void>;
}

/** The try of a batch without a key: earlier ones are unknown. */
const onlyTry: BatchTry = { eventId: () => uuidv7(), isRepeat: false, over: async () => undefined };

/** What is kept of a batch. */
interface StoredBatch {
  eventId: string;
}

/**
 * Begins the try of a batch under its `Idempotency-Key`, if it has one; the response says when there was an earlier
 * one. Rejects as `Reservations.reserve` does.
 */
export async function beginTry(
  ports: IdempotencyPorts,
  context: RequestContext,
  key: string | undefined,
  body: unknown,
): Promise<BatchTry> {
  if (key === undefined) return onlyTry;
  const payload = payloadOf(context.req, body);
  const reserved = await reserve(ports, context, key, payload);
  const isKept = reserved instanceof StoredResponse;
  const { eventId } = isKept ? (reserved.resultFor(payload) as StoredBatch) : reserved;
  const isRepeat = isKept || reserved.earlier !== undefined;
  if (isRepeat) markReplayed(context);
  return {
    eventId: ({ number }) => deterministicEventId(eventId, number),
    isRepeat,
    over: async () => {
      if (!isKept) await reserved.complete({ eventId } satisfies StoredBatch);
    },
  };
}

/** Whose batch it was, and how it arrived: `method` defaults to `POST`. */
interface RecordedBatch extends Pick<BatchOrder, 'caller' | 'options' | 'route'> {
  method?: string;
  /** The status of its response; by default that of the most frequent code. */
  status?: number;
}

/**
 * Appends to the audit trail what left no event of its own: lines that were refused, and why, and how many were
 * skipped or dry runs. The lines' results stand, even if the log does not accept that.
 */
export async function recordBatch(
  { eventLog, batches }: Pick<BatchPorts, 'eventLog' | 'batches'>,
  { caller, options, method = 'POST', route, status }: RecordedBatch,
  tally: BatchTally,
): Promise<void> {
  const { refusal, skipped, summary } = tally;
  const entries: AccessRecorded[] = [];
  if (refusal !== undefined) {
    const answered = { method, route, status: status ?? statusOf[refusal.code] };
    entries.push({ action: 'record.batch', outcome: 'refused', ...refusal, ...answered });
  }
  if (options.dryRun) entries.push({ action: 'record.dry_run', count: summary.accepted });
  else if (skipped > 0) entries.push({ action: 'record.unchanged', count: skipped });
  try {
    await Promise.all(entries.map((entry) => recordFurtherAccess(eventLog, caller, entry)));
  } catch (error) {
    const { requestId, principal } = caller;
    const fields = { requestId, route, key: principal.id, error: describeError(error) };
    batches.logger.warn(fields, 'what a batch skipped could not be recorded in the audit trail');
  }
}

/** How a result is reported. */
interface ResultForm {
  /** It lacks `warnings`, `changed_fields` and `details`, and says so. */
  isShort: boolean;
  isDryRun: boolean;
}

/** Returns a line of the response: what the single request would have been answered. */
function resultText(line: number, result: LineResult, form: ResultForm): string {
  return `${JSON.stringify(resultOf(line, result, form))}\n`;
}

function resultOf(line: number, result: LineResult, { isShort, isDryRun }: ResultForm): object {
  const { kind, id } = result;
  if ('written' in result) {
    const { version, outcome, warnings, changedFields = [] } = result.written;
    const reported = { line, kind, id, status: 200, outcome, version, ...(isDryRun && { dry_run: true }) };
    const isLong = warnings.length > 0 || (isDryRun && changedFields.length > 0);
    if (isShort && isLong) return { ...reported, shortened: true };
    return { ...reported, warnings, ...(isDryRun && { changed_fields: changedFields }) };
  }
  const { code, message, details, version, retryAfterSeconds } = asServiceError(result.error);
  return {
    line,
    kind,
    id,
    status: statusOf[code],
    error: message,
    code,
    ...(details && (isShort ? { shortened: true } : { details })),
    ...(version !== undefined && { version }),
    retryable: isRetryable(code),
    ...(retryAfterSeconds !== undefined && { retryAfter: retryAfterSeconds }),
  };
}

export interface BatchPorts extends WritePorts {
  batches: Batches;
}

/** What is carried out of a batch, and for whom. */
interface BatchOrder {
  lines: readonly BatchLine[];
  caller: Caller;
  options: BatchContext['options'];
  authorize: BatchContext['authorize'];
  /** The endpoint's route, for the log and the audit trail. */
  route: string;
  tries: BatchTry;
}

/** Carries out a batch, and reports the result of each line, and of all. Never rejects. */
export async function executeBatch(
  ports: BatchPorts,
  order: BatchOrder,
  results: OrderedResults,
): Promise<void> {
  const { batches } = ports;
  const { lines, caller, options, authorize, route, tries } = order;
  const tally = new BatchTally(lines.length);
  const indexes = new Map(lines.map((line, index) => [line, index]));
  const failures = new Map<string, ServiceError>();
  const answer = (line: BatchLine, result: LineResult) => {
    const index = indexes.get(line);
    if (index === undefined) return;
    indexes.delete(line);
    tally.count(result, line.number);
    if ('error' in result) {
      const failure = asServiceError(result.error);
      failures.set(failure.code, failures.get(failure.code) ?? failure);
    }
    const isDryRun = options.dryRun === true;
    results.add(index, (isShort) => resultText(line.number, result, { isShort, isDryRun }));
  };
  try {
    const around = { limiter: batches.lines, stopping: batches.stopping };
    await runBatch(lines, { ports, caller, options, authorize, ...tries, answer, ...around });
  } catch (error) {
    const failed = { kind: null, id: null, error: internalError(error) };
    for (const line of [...indexes.keys()]) answer(line, failed);
  }
  for (const failure of failures.values())
    logFailure(batches.logger, failure, { requestId: caller.requestId, route }, 'request');
  measureLines(tally);
  await recordBatch(ports, { ...order, status: 200 }, tally);
  await tries.over();
  results.end(`${JSON.stringify({ summary: tally.summary })}\n`);
}

function measureLines({ summary }: BatchTally): void {
  for (const outcome of ['created', 'updated', 'unchanged', 'refused'] as const) {
    measurements.counter('chartledger.batch.lines', { 'chartledger.outcome': outcome }).add(summary[outcome]);
  }
}

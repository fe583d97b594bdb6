import { setImmediate as nextTurn } from 'node:timers/promises';
import { isJsonObject, type JsonObject, type NewEvent } from '../../../domain/events/event.ts';
import { type Caller, newEvent } from '../../../domain/events/newEvent.ts';
import { recordStream } from '../../../domain/events/streams.ts';
import { catalog, catalogEntry } from '../../../domain/records/catalog.ts';
import { identifier } from '../../../domain/records/schema/fields.ts';
import type { CatalogEntry, RecordFields } from '../../../domain/records/schema/kind.ts';
import { unknownNames, validate, validationError } from '../../../domain/records/schema/validation.ts';
import { type FieldMessage, ServiceError } from '../../../platform/errors.ts';
import { type RateLimiter, secondsUntilReset } from '../../../storage/rateLimiters.ts';
import { type Reference, referencesOf } from './references.ts';
import type { ValidUpsert, WriteCondition, WriteOptions, WritePorts, Written } from './upsert.ts';

/** Records that lines of a batch write, added once such a line is accepted: later lines need not check whether they exist. */
export class PendingCreates {
  readonly #streams = new Set<string>();

  has(stream: string): boolean {
    return this.#streams.has(stream);
  }

  add(stream: string): void {
    this.#streams.add(stream);
  }
}

/** What a line requests. */
interface Operation {
  entry: CatalogEntry;
  input: JsonObject;
  condition: WriteCondition;
}

const kinds: readonly string[] = catalog.map(({ kind }) => kind);
const members: readonly string[] = ['kind', 'record', 'if_match'];
const callerId = identifier('', '');

/** Returns what a line is about, if it gives a valid kind and id. */
export function subjectOf(value: unknown): LineSubject {
  if (!isJsonObject(value)) return { kind: null, id: null };
  const { kind, record } = value;
  const id = isJsonObject(record) ? record.id : undefined;
  return {
    kind: typeof kind === 'string' && kinds.includes(kind) ? kind : null,
    id: callerId.safeParse(id).success ? (id as string) : null,
  };
}

/**
 * Returns the operation of a line with the content `value` and an apparent kind. Throws `validation_failed`; does not check the
 * record itself.
 */
function readOperation(value: unknown, seemingKind: string | undefined): Operation {
  if (!isJsonObject(value)) {
    throw new ServiceError('validation_failed', 'A line must be an object with a kind and a record.');
  }
  const { kind, record, if_match: ifMatch } = value;
  const problems: FieldMessage[] = [];
  if (kind === undefined) problems.push({ field: 'kind', message: 'is required' });
  else if (!kinds.includes(kind as string))
    problems.push({ field: 'kind', message: `must be one of ${kinds.join(', ')}` });
  // If a line has two kinds, the last one counts in JSON, but the first one decided when the line is carried out.
  else if (seemingKind !== undefined && kind !== seemingKind)
    problems.push({ field: 'kind', message: 'must be sent once' });
  if (record === undefined) problems.push({ field: 'record', message: 'is required' });
  else if (!isJsonObject(record)) problems.push({ field: 'record', message: 'must be an object' });
  const condition = conditionOf(ifMatch);
  if (condition === undefined)
    problems.push({ field: 'if_match', message: 'must be a version number, 1 or higher, or "*"' });
  const unknown = Object.keys(value).filter((name) => !members.includes(name));
  problems.push(...unknownNames(unknown, `is not a known field; a line can have ${members.join(', ')}`));
  if (problems.length > 0) throw validationError(problems);
  return { entry: catalogEntry(kind as string), input: record as JsonObject, condition: condition ?? 'any' };
}

/** Returns the condition that `if_match` expresses; undefined when it is neither a version nor `*`. */
function conditionOf(ifMatch: unknown): WriteCondition | undefined {
  if (ifMatch === undefined) return 'any';
  if (ifMatch === '*') return 'exists';
  return Number.isSafeInteger(ifMatch) && (ifMatch as number) >= 1 ? (ifMatch as number) - 1 : undefined;
}

/** A line that is valid by itself. */
export class ParsedOperation implements ValidUpsert {
  readonly line: BatchLine;
  readonly operation: Operation;
  readonly sent: RecordFields;
  readonly stream: string;
  readonly #context: BatchContext;

  /** Parses what a line says. Throws `validation_failed`, `permission_denied`. */
  constructor(context: BatchContext, line: BatchLine, value: unknown) {
    this.line = line;
    this.operation = readOperation(value, line.seemingKind);
    context.authorize(this.entry.kind);
    this.sent = validate(this.entry.schema, this.operation.input) as RecordFields;
    this.stream = recordStream(context.caller.workspace, this.entry.kind, this.sent.id);
    this.#context = context;
  }

  get entry(): Operation['entry'] {
    return this.operation.entry;
  }

  get subject(): LineSubject {
    return { kind: this.entry.kind, id: this.sent.id };
  }

  get references(): Reference[] {
    return referencesOf(this.#context.caller.workspace, this.entry, this.sent);
  }

  warnings(record: RecordFields | undefined): FieldMessage[] {
    const { caller, ports } = this.#context;
    return ports.warnings(caller.workspace, this.entry, this.operation.input, this.sent, record);
  }

  requireReturn(version: number, { isTrial }: { isTrial: boolean }): Promise<void> {
    const { caller, ports } = this.#context;
    return ports.returns.require(caller, this.entry, { id: this.sent.id, version, isTrial });
  }

  newEvent(fields: RecordFields): NewEvent {
    const event = newEvent(this.#context.caller, this.entry.eventType, fields);
    event.id = this.#context.eventId(this.line);
    if (this.#context.isRepeat) event.isRepeat = true;
    return event;
  }
}

/** How long a batch occupies the thread that serves requests before yielding. */
const SLICE_MS = 2;

/** Divides long work into slices, yielding to other requests in between. */
export class TimeSlicer {
  #until = performance.now() + SLICE_MS;

  /** Whether the current slice is over: await `next` then. */
  get isOver(): boolean {
    return performance.now() >= this.#until;
  }

  /** Resolves after other requests had their turn. */
  async next(): Promise<void> {
    await nextTurn();
    this.#until = performance.now() + SLICE_MS;
  }
}

/** The environment in which a batch is carried out. */
export interface BatchContext {
  ports: WritePorts;
  caller: Caller;
  options: Pick<WriteOptions, 'dryRun' | 'unchanged' | 'states' | 'foreseen'>;
  /** Returns the event id for a line: a UUID, the same in each try of the batch. */
  eventId(line: BatchLine): string;
  /** Whether an earlier try of the batch may have appended events. */
  isRepeat: boolean;
  /** Throws `permission_denied` when the caller may not write records of a kind. */
  authorize(kind: string): void;
  answer: AnswerLine;
  slices: TimeSlicer;
}

/** One line of a batch, as it was sent. */
export interface BatchLine {
  /** Its place among the lines, starting at 1. */
  readonly number: number;
  /** Its apparent kind, as far as it can be told without parsing. */
  readonly seemingKind: string | undefined;
  /** Its bytes, if it was a line of a text and not too large. */
  readonly bytes?: Buffer | undefined;
  /** Returns its content. Throws the error for a line that cannot be parsed. */
  read(): unknown;
}

/** The record that a line is about, as far as it gives a valid kind and id. */
export interface LineSubject {
  kind: string | null;
  id: string | null;
}

/** The result of a line: what the single upsert would have resolved or rejected with. */
export type LineResult = LineSubject & ({ written: Written } | { error: unknown });

/** Called with the result of each line, once, in no particular order. */
export type AnswerLine = (line: BatchLine, result: LineResult) => void;

/**
 * Longest chain of records referring to each other that is put in order; beyond it, lines fail because what they refer to does
 * not exist.
 */
const MOST_STEPS = 10;

/** A line of a record that refers to others of its kind. */
interface ReferringLine {
  line: BatchLine;
  id: string;
  /** The ids of those others. */
  to: readonly string[];
}

/**
 * Returns the lines of records that refer to others of their kind, in steps: each record after those that it refers to. Those in
 * a cycle are in the last step.
 */
function referringOrder(lines: readonly ReferringLine[]): BatchLine[][] {
  const steps: BatchLine[][] = [];
  for (let left = lines; left.length > 0; ) {
    const waiting = new Set(left.map(({ id }) => id));
    const blocked = new Set(
      left.filter(({ id, to }) => to.some((other) => other !== id && waiting.has(other))).map(({ id }) => id),
    );
    const isLast = steps.length === MOST_STEPS - 1 || blocked.size === waiting.size;
    steps.push(left.filter(({ id }) => isLast || !blocked.has(id)).map(({ line }) => line));
    left = isLast ? [] : left.filter(({ id }) => blocked.has(id));
  }
  return steps;
}

/** By kind: how many steps it is away from a kind that refers at most to itself. */
const steps = new Map<string, number>();
/** By kind: the fields in which a record refers to one of its own kind, if any. */
const ownReferences = new Map<string, readonly string[]>();
for (const { kind, references } of catalog) {
  const others = references.filter((reference) => reference.kind !== kind);
  steps.set(kind, Math.max(0, ...others.map((reference) => 1 + (steps.get(reference.kind) as number))));
  const own = references.filter((reference) => reference.kind === kind);
  if (own.length > 0)
    ownReferences.set(
      kind,
      own.map(({ path }) => path[0] as string),
    );
}

/**
 * Returns the lines in steps: a line's references are all in earlier steps, and within a step lines keep their order, including
 * those of the same record. Lines of unknown kind are in the first step.
 */
export async function dependencyOrder(
  lines: Iterable<BatchLine>,
  slices: TimeSlicer,
): Promise<BatchLine[][]> {
  const ordered = Array.from({ length: Math.max(...steps.values()) + 1 }, () => ({
    first: [] as BatchLine[],
    /** Lines of records that refer to others of their kind. */
    referring: [] as ReferringLine[],
  }));
  /** The ids of these records, by kind. */
  const referring = new Map([...ownReferences.keys()].map((kind) => [kind, new Set<string>()]));
  for (const line of lines) {
    if (slices.isOver) await slices.next();
    const kind = line.seemingKind ?? kindRead(line) ?? '';
    const step = ordered[steps.get(kind) ?? 0];
    const found = referringLine(line, ownReferences.get(kind), referring.get(kind));
    if (found) step?.referring.push(found);
    else step?.first.push(line);
  }
  return ordered.flatMap(({ first, referring: others }) => [first, ...referringOrder(others)]);
}

function kindRead(line: BatchLine): string | undefined {
  const value = valueIn(line);
  return isJsonObject(value) && typeof value.kind === 'string' ? value.kind : undefined;
}

/**
 * Returns a line whose record refers to others of its kind by one of these fields, in this line or an earlier one; a text that
 * does not contain the fields is not parsed.
 */
function referringLine(
  line: BatchLine,
  fields: readonly string[] = [],
  known: Set<string> = new Set(),
): ReferringLine | undefined {
  const { bytes } = line;
  if (fields.length === 0) return undefined;
  if (bytes && known.size === 0 && !fields.some((field) => bytes.includes(`"${field}"`))) return undefined;
  const value = valueIn(line);
  const record: JsonObject = isJsonObject(value) && isJsonObject(value.record) ? value.record : {};
  const { id } = record;
  const to = fields.map((field) => record[field]).filter((other) => typeof other === 'string');
  if (typeof id !== 'string' || (to.length === 0 && !known.has(id))) return undefined;
  known.add(id);
  return { line, id, to };
}

function valueIn(line: BatchLine): unknown {
  try {
    return line.read();
  } catch {
    // The error is reported when the line is carried out.
    return undefined;
  }
}

/** Number of records checked concurrently. */
const AT_ONCE = 64;

/** Runs a function for each line, many concurrently, but lines of the same record one after the other, in order. */
export async function eachStream(
  lines: readonly ParsedOperation[],
  work: (line: ParsedOperation) => Promise<void>,
): Promise<void> {
  const groups = Map.groupBy(lines, ({ stream }) => stream);
  const streams = groups.values();
  const worker = async () => {
    for (const ofStream of streams) for (const line of ofStream) await work(line);
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, groups.size) }, worker));
}

/** How many lines may be carried out, and the error for those beyond. */
interface GrantedLines {
  count: number;
  refusal: unknown;
}

/** The error for lines beyond their workspace's limit, and the seconds to wait. */
function tooManyLines(seconds: number): ServiceError {
  return new ServiceError('rate_limited', `Too many lines in a minute. Try again in ${seconds} seconds.`, {
    retryAfterSeconds: seconds,
  });
}

/** Counts a number of lines against a workspace's limit; without a limiter all are granted. */
export async function grantLines(
  limiter: RateLimiter | undefined,
  workspace: string,
  wanted: number,
): Promise<GrantedLines> {
  if (limiter === undefined || wanted === 0) return { count: wanted, refusal: undefined };
  try {
    const count = await limiter.consume(workspace, wanted);
    // Where refusals are no longer counted, all lines are beyond the limit.
    const beyond = count.refused ? Math.min(wanted, count.refusals || wanted) : 0;
    const refusal = beyond === 0 ? undefined : tooManyLines(secondsUntilReset(count));
    return { count: wanted - beyond, refusal };
  } catch (refusal) {
    return { count: 0, refusal };
  }
}

import { setImmediate as nextTurn } from 'node:timers/promises';
import { models } from '../../../../projections/index.ts';
import { bodyOf, type Incomplete, isIncomplete } from '../../../../projections/projection.ts';
import { recordsModel } from '../../../../projections/records.ts';
import type { Position, RecordedEvent } from '../../../domain/events/event.ts';
import { kindPartition, recordIdOf, recordStream } from '../../../domain/events/streams.ts';
import { evolveRecord, type RecordState, viewRecord } from '../../../domain/records/fold.ts';
import { patient } from '../../../domain/records/kinds/patient.ts';
import type { CatalogEntry, RecordFields } from '../../../domain/records/schema/kind.ts';
import { listOf } from '../../../domain/records/searchIndex.ts';
import { asUnreadable, gone, notFound, UnreadableError } from '../../../platform/errors.ts';
import { isUnavailable } from '../../../platform/retry.ts';
import { type EventLog, inLogOrder } from '../../../storage/eventLog.ts';
import type { ReadModels, Row } from '../../../storage/readModels.ts';

/**
 * Events read at once. A stream may have many thousands of versions of up to 1 MiB: it is folded a chunk at a time,
 * so that only one chunk and the state are held, and requests are served between chunks.
 */
const CHUNK = 200;

/** Returns the state after the next event; throws an `UnreadableError` for one that cannot be folded. */
export type Evolve<State> = (state: State | undefined, event: RecordedEvent) => State;

/** The range of a stream to fold. */
export interface FoldRange<State> {
  /** The state to begin with; default: that before the first event. */
  state?: State | undefined;
  /** The last version to fold. */
  version?: number;
  /** The fold ends before the first event for which this is false. */
  isWanted?: (event: RecordedEvent) => boolean;
}

/**
 * Resolves with the fold of a stream's events, of all unless the range says otherwise; undefined when there is none.
 * Rejects with `unreadable` when it would lead past an event that cannot be read, and with `unavailable`.
 */
export async function foldStream<State extends { version: number }>(
  eventLog: EventLog,
  stream: string,
  evolve: Evolve<State>,
  { state: before, version = Number.POSITIVE_INFINITY, isWanted = () => true }: FoldRange<State> = {},
): Promise<State | undefined> {
  let state = before;
  for (let chunk = CHUNK; ; ) {
    const from = state?.version ?? 0;
    if (from >= version) return state;
    const limit = Math.min(chunk, version - from);
    const events = await eventLog.readStream(stream, { from, limit }).catch(asUnreadable);
    if (events instanceof UnreadableError) {
      // The events before the unreadable one may be all that is wanted.
      if (limit === 1) throw events;
      chunk = Math.floor(limit / 2);
      continue;
    }
    for (const event of events) {
      // Where earlier versions were erased, a stream begins at a later one.
      if (event.revision >= version || !isWanted(event)) return state;
      state = evolve(state, event);
    }
    if (events.length < limit) return state;
    await nextTurn();
  }
}

/** For so long, streams are read before other requests are served. */
const TURN_MS = 2;

/**
 * Resolves with what `work` resolves with for each item; for all of them at the same time, as far as they wait for a store. Where a store
 * answers within the thread, other requests are served in between. Rejects as `work` does.
 */
export async function allInTurns<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Promise<Result>[] = [];
  let begun = performance.now();
  for (const item of items) {
    const result = work(item);
    // A rejection is thrown at the end.
    result.catch(() => undefined);
    results.push(result);
    if (performance.now() - begun < TURN_MS) continue;
    await nextTurn();
    begun = performance.now();
  }
  return Promise.all(results);
}

/** How long a reading counts as current. */
const FRESH_MS = 1_000;

interface CachedAggregate<State> {
  state: State | undefined;
  /** When the last successful reading began, and when the last attempt did. */
  readAt: number;
  triedAt: number;
  reading: Promise<State | undefined> | undefined;
}

/** The folds of one stream per workspace, read on when asked for after a second has passed. */
export class AggregateCache<State extends { version: number }> {
  readonly #eventLog: EventLog;
  readonly #streamOf: (workspace: string) => string;
  readonly #evolve: Evolve<State>;
  readonly #remembered = new Map<string, CachedAggregate<State>>();

  /** `evolve` must not change the state it is given. */
  constructor(eventLog: EventLog, streamOf: (workspace: string) => string, evolve: Evolve<State>) {
    this.#eventLog = eventLog;
    this.#streamOf = streamOf;
    this.#evolve = evolve;
  }

  /**
   * For callers that do not wait for a store: returns the state as last read, undefined before the first reading; a
   * state older than a second is read on for later callers. Where it cannot be read, the known state stands.
   */
  known(workspace: string): State | undefined {
    const remembered = this.#of(workspace);
    if (!isFresh(remembered.triedAt)) this.#read(workspace, remembered).catch(() => undefined);
    return remembered.state;
  }

  /**
   * For callers that can wait: resolves with the state as of at most a second before the call, or as of when the
   * reading then under way began; undefined when the stream was empty. Rejects with `unavailable` and `unreadable`.
   */
  async current(workspace: string): Promise<State | undefined> {
    const remembered = this.#of(workspace);
    return isFresh(remembered.readAt) ? remembered.state : this.#read(workspace, remembered);
  }

  #of(workspace: string): CachedAggregate<State> {
    let remembered = this.#remembered.get(workspace);
    if (remembered === undefined) {
      remembered = { state: undefined, readAt: -Infinity, triedAt: -Infinity, reading: undefined };
      this.#remembered.set(workspace, remembered);
    }
    return remembered;
  }

  /** Only one reading runs at a time. */
  #read(workspace: string, remembered: CachedAggregate<State>): Promise<State | undefined> {
    remembered.reading ??= this.#readOn(workspace, remembered).finally(() => {
      remembered.reading = undefined;
    });
    return remembered.reading;
  }

  async #readOn(workspace: string, remembered: CachedAggregate<State>): Promise<State | undefined> {
    const begun = performance.now();
    remembered.triedAt = begun;
    const { state } = remembered;
    remembered.state = await foldStream(this.#eventLog, this.#streamOf(workspace), this.#evolve, { state });
    remembered.readAt = begun;
    return remembered.state;
  }
}

function isFresh(since: number): boolean {
  return performance.now() - since <= FRESH_MS;
}

const PAGE = 500;

/**
 * Resolves with the rows of the patients merged into one, across all merges: each after those that were merged into
 * it, and never the patient itself. As of what the read model of records has. Rejects with `unavailable`.
 */
export async function mergedPatients(
  readModels: ReadModels,
  workspace: string,
  id: string,
): Promise<Row<RecordState | Incomplete>[]> {
  const known = new Set([id]);
  const found: Row<RecordState | Incomplete>[] = [];
  const partition = kindPartition(workspace, patient.kind);
  const visit = async (into: string) => {
    const list = listOf({ field: 'merged_into', value: into });
    for (let after: number | undefined; ; ) {
      const query = { partition, list, limit: PAGE, ...(after !== undefined && { after }) };
      const rows = await readModels.page(recordsModel, query);
      for (const row of rows) {
        const merged = recordIdOf(row.id);
        if (known.has(merged)) continue;
        known.add(merged);
        await visit(merged);
        found.push(row);
      }
      if (rows.length < PAGE) return;
      after = rows.at(-1)?.order;
    }
  };
  await visit(id);
  return found;
}

/** A read model's progress through the log. */
export interface ProjectionStatus {
  model: string;
  position: number;
  /** 0 when the read model holds the whole log; otherwise the distance between two positions, which have gaps. */
  behind: number;
  /** Events that the projection could not process, at most 1,000. */
  parked: number;
}

/** Resolves with every read model's status. Rejects with `unavailable` when a store cannot be reached. */
export async function projectionStatus(
  eventLog: EventLog,
  readModels: ReadModels,
): Promise<ProjectionStatus[]> {
  const head = await eventLog.head();
  return Promise.all(
    models.map(async (model) => {
      const [position, parked] = await Promise.all([readModels.checkpoint(model), readModels.parked(model)]);
      return { model, position, behind: Math.max(0, head - position), parked: parked.length };
    }),
  );
}

/** A read model's progress through the log, and how long it has been behind. */
export interface ReadModelLag extends ProjectionStatus {
  /**
   * Age in seconds of the oldest event that it does not hold yet; 0 when it holds all; undefined where that cannot be
   * read.
   */
  seconds: number | undefined;
}

/** How long the log is asked for an event. */
const ASK_MS = 1_000;

/**
 * Resolves with every read model's status, with its lag by a clock (milliseconds since 1970). Rejects with
 * `unavailable` when a store cannot be reached.
 */
export async function readModelLag(
  eventLog: EventLog,
  readModels: ReadModels,
  now: number,
): Promise<ReadModelLag[]> {
  const statuses = await projectionStatus(eventLog, readModels);
  // Most read models are at the same position.
  const oldest = new Map<Position, Promise<number | undefined>>();
  for (const { position, behind } of statuses) {
    if (behind > 0 && !oldest.has(position)) oldest.set(position, firstAfter(eventLog, position, now));
  }
  return Promise.all(
    statuses.map(async (status) => {
      const at = status.behind > 0 ? await oldest.get(status.position) : now;
      return { ...status, seconds: at === undefined ? undefined : Math.max(0, (now - at) / 1_000) };
    }),
  );
}

/**
 * Resolves with the time at which the first event after a position was recorded; `now` when there is none, undefined
 * when that cannot be read.
 */
async function firstAfter(eventLog: EventLog, after: Position, now: number): Promise<number | undefined> {
  const signal = AbortSignal.timeout(ASK_MS);
  for await (const { events, caughtUp } of eventLog.follow({ after, signal })) {
    const [first] = events;
    if (first) return Date.parse(first.recordedAt);
    if (caughtUp) return now;
  }
  return undefined;
}

export interface QueryPorts {
  eventLog: EventLog;
  readModels: ReadModels;
}

/** A record as callers read it. */
export interface RecordView {
  id: string;
  version: number;
  created_at: string;
  updated_at: string;
  record: RecordFields;
}

export function toRecordView(state: RecordState): RecordView {
  const record = viewRecord(state);
  return {
    id: record.id,
    version: state.version,
    created_at: state.createdAt,
    updated_at: state.updatedAt,
    record,
  };
}

/**
 * Resolves with a record as of every write acknowledged before the call: the read model's state, plus whatever its
 * stream holds beyond that. Rejects with `not_found` when it does not exist, `gone` when it was erased, `unreadable`
 * when it has an event that cannot be read.
 */
export async function readRecord(
  ports: QueryPorts,
  workspace: string,
  entry: CatalogEntry,
  id: string,
): Promise<RecordView> {
  const state = await currentState(ports, entry.kind, recordStream(workspace, entry.kind, id));
  if (state === undefined) throw notFound(entry.title);
  if (state.erased) throw gone(entry.title, state.updatedAt);
  return toRecordView(state);
}

/**
 * Resolves with the fold of a record's whole stream, as of every write acknowledged before the call: also for an
 * erased record; undefined when there never was one. Rejects with `unreadable` when it has an event that cannot be
 * read.
 */
export async function currentState(
  { eventLog, readModels }: QueryPorts,
  kind: string,
  stream: string,
): Promise<RecordState | undefined> {
  const evolve: Evolve<RecordState> = (state, event) => evolveRecord(kind, state, event);
  const projected = await projectedState(readModels, stream);
  return foldStream(eventLog, stream, evolve, { state: projected });
}

/** Number of events behind the log up to which a read model's rows are told apart by those events. */
const MOST_BEHIND = 2_000;

/**
 * Resolves with the states of records by their streams, as `currentState` does: of those whose row in the read model is current.
 * Rejects with `unavailable` when the log cannot be reached.
 */
export async function projectedStates(
  { eventLog, readModels }: QueryPorts,
  streams: readonly string[],
): Promise<Map<string, RecordState | undefined>> {
  try {
    const position = await readModels.checkpoint(recordsModel);
    const changed = await changedSince(eventLog, position);
    if (changed === undefined) return new Map();
    const unchanged = streams.filter((stream) => !changed.has(stream));
    const rows = new Map((await readModels.load(recordsModel, unchanged)).map((row) => [row.id, row]));
    const readable = unchanged.filter((stream) => {
      const row = rows.get(stream);
      return row === undefined || !isIncomplete(row);
    });
    return new Map(readable.map((stream) => [stream, bodyOf(rows.get(stream))]));
  } catch (error) {
    if (isUnavailable(error)) return new Map();
    throw error;
  }
}

/** Resolves with the streams that have events after a position; undefined where that is far behind the end of the log. */
async function changedSince(eventLog: EventLog, after: Position): Promise<Set<string> | undefined> {
  const changed = new Set<string>();
  if ((await eventLog.head()) <= after) return changed;
  let events = 0;
  const { signal } = new AbortController();
  for await (const batch of eventLog.follow({ after, erased: true, signal })) {
    for (const { stream } of inLogOrder(batch)) changed.add(stream);
    events += batch.events.length;
    if (events > MOST_BEHIND) return undefined;
    if (batch.caughtUp) break;
  }
  return changed;
}

/** Resolves with a record's state in the read model, which may lag behind; undefined where that has none, or cannot be reached. */
export async function projectedState(
  readModels: ReadModels,
  stream: string,
): Promise<RecordState | undefined> {
  try {
    const [row] = await readModels.load(recordsModel, [stream]);
    return bodyOf(row);
  } catch (error) {
    if (isUnavailable(error)) return undefined;
    throw error;
  }
}

/** Resolves with a row's state; for an incomplete row with its stream's, undefined where that cannot be read. */
export async function stateOf(
  { eventLog }: QueryPorts,
  kind: string,
  row: Row<RecordState | Incomplete>,
): Promise<RecordState | undefined> {
  const evolve: Evolve<RecordState> = (state, event) => evolveRecord(kind, state, event);
  try {
    return bodyOf(row) ?? (await foldStream(eventLog, row.id, evolve));
  } catch (error) {
    if (error instanceof UnreadableError) return undefined;
    throw error;
  }
}

/** Returns encounters by their dates of service: the latest first, those without one last. */
export function byService(encounters: readonly RecordView[]): RecordView[] {
  const dateOf = ({ record }: RecordView) => {
    const at = Date.parse(String(record.date_of_service));
    return Number.isNaN(at) ? Number.MIN_SAFE_INTEGER : at;
  };
  return encounters.toSorted((one, other) => dateOf(other) - dateOf(one));
}

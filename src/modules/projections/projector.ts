import { setTimeout as sleep } from 'node:timers/promises';
import { isIncomplete, modelName, type Projection, rebuildOf } from '../../../projections/projection.ts';
import {
  DamagedEvent,
  dataAs,
  type ErasedEvent,
  type Position,
  type RecordedEvent,
} from '../../domain/events/event.ts';
import { erasureStep, type ListedEvent, type RecordErased } from '../../domain/events/payloads.ts';
import { isBookkeeping } from '../../domain/events/streams.ts';
import { currentVersion, UnknownSchemaVersion } from '../../domain/events/upcasting.ts';
import { ServiceError, UnreadableError } from '../../platform/errors.ts';
import { measurements } from '../../platform/metrics/metrics.ts';
import { isUnavailable } from '../../platform/retry.ts';
import { isTracing, type TracedWork, traced } from '../../platform/tracing.ts';
import { type EventBatch, type EventLog, type FollowOptions, inLogOrder } from '../../storage/eventLog.ts';
import type { ReadModels, Row, RowBatch } from '../../storage/readModels.ts';
import { type LogMismatch, loadCheckpoint, runWhileLogUnchanged, type SameLogPorts } from './checkpoints.ts';
import type { ProjectedBatches } from './projectedBatches.ts';

/** What the projector's thread reports to the service, for its log. */
export type ProjectorMessage =
  | {
      kind: 'parked';
      model: string;
      /** How many, all with the same cause; the next three describe the first one. */
      events: number;
      /** The beginning of its stream's name, without the caller's id. */
      partition: string;
      position: number;
      eventId: string;
      error: Record<string, unknown>;
    }
  | { kind: 'mismatch'; model: string; mismatch: LogMismatch }
  | { kind: 'retrying'; task: string; error: Record<string, unknown> };

/** Streams whose tombstones are remembered: those erased together are close to each other in the log. */
const MAX_STREAMS = 64;

type Versions = ReadonlyMap<number, ListedEvent | undefined>;

/** What tombstones say about the events that they list. */
export class Tombstones {
  readonly #eventLog: Pick<EventLog, 'readStream'>;
  readonly #streams = new Map<string, Versions>();

  constructor(eventLog: Pick<EventLog, 'readStream'>) {
    this.#eventLog = eventLog;
  }

  /**
   * Resolves with what is said about each of these events, by position; with nothing for those whose tombstone is
   * from an earlier version of the service, or cannot be read. Rejects with `unavailable`.
   */
  async listed(events: readonly ErasedEvent[] = []): Promise<Map<Position, ListedEvent>> {
    const found = new Map<Position, ListedEvent>();
    for (const { stream, revision, position } of events) {
      const version = revision + 1;
      let versions = this.#streams.get(stream);
      // Remembered tombstones do not cover what was erased since.
      if (!versions?.has(version)) versions = await this.#read(stream);
      const listed = versions.get(version);
      if (listed) found.set(position, listed);
    }
    return found;
  }

  /** The tombstones at the beginning of a stream list everything that came before them. */
  async #read(stream: string): Promise<Versions> {
    const versions = new Map<number, ListedEvent | undefined>();
    for (const { erased, kind, record_id, document_id } of await this.#tombstones(stream)) {
      const subject = { kind, record_id, ...(document_id !== undefined && { document_id }) };
      for (const { version, written } of erased) versions.set(version, written && { ...subject, written });
    }
    if (this.#streams.size >= MAX_STREAMS) this.#streams.clear();
    this.#streams.set(stream, versions);
    return versions;
  }

  async #tombstones(stream: string): Promise<RecordErased[]> {
    try {
      const [first] = await this.#eventLog.readStream(stream, { limit: 1 });
      if (first === undefined || erasureStep(first) === undefined) return [];
      const { parts } = dataAs<RecordErased>(first.data);
      const options = { from: first.revision, limit: parts };
      // Where the listed ones were erased meanwhile, these are later tombstones, which list them.
      const all = parts === 1 ? [first] : await this.#eventLog.readStream(stream, options);
      return all.filter(erasureStep).map(({ data }) => dataAs<RecordErased>(data));
    } catch (error) {
      if (error instanceof UnreadableError) return [];
      throw error;
    }
  }
}

/**
 * Returns why an event was parked: the kind of error, as messages may contain data; for an event that a newer version
 * wrote, also its type and schema version.
 */
function parkReason(error: unknown): string {
  if (error instanceof UnknownSchemaVersion) return `${error.name} ${error.shape}`;
  return error instanceof Error ? error.name : typeof error;
}

/** Whether an event that was parked for this reason can be read by this version of the service. */
export function canRetryParked(reason: string): boolean {
  const [, type = '', version] = /^UnknownSchemaVersion (\w+)\.v(\d+)$/.exec(reason) ?? [];
  if (version === undefined) return false;
  try {
    return Number(version) <= currentVersion(type);
  } catch {
    return false;
  }
}

/** A read model that is being built: a projection's own, or another one alongside it. */
interface Target {
  projection: Projection;
  model: string;
}

/** Returns the projection's own read model. */
export function ownTarget(projection: Projection): Target {
  return { projection, model: modelName(projection) };
}

interface FoldPorts {
  readModels: ReadModels;
  /** Called with an event that a projection could not process, and the error. */
  onParked(model: string, event: Pick<RecordedEvent, 'id' | 'stream' | 'position'>, error: unknown): void;
}

/** A batch, and what tombstones say about the events that were erased, by their positions. */
interface ErasureAwareBatch extends Omit<EventBatch, 'caughtUp'> {
  listed: ReadonlyMap<Position, ListedEvent>;
}

/**
 * Folds a batch of events that the projection wants; resolves with what is to be written. An event that cannot be
 * folded is parked; where a row represents a stream, nothing further of the stream is folded over it. Rejects with
 * `unavailable`.
 */
export async function foldBatch(
  target: Target,
  ports: FoldPorts,
  batch: ErasureAwareBatch,
): Promise<RowBatch[]> {
  const { projection, model } = target;
  const rows = await loadRows(target, ports.readModels, batch);
  const changed = new Set<string>();
  const completed = new Map<string, Row>();
  const take = (row: Row) => {
    rows.set(row.id, row);
    changed.add(row.id);
  };
  const fold = (
    id: string,
    { position }: { position: Position },
    evolve: (row?: Row) => Row | [Row, ...Row[]] | undefined,
  ) => {
    const row = rows.get(id);
    if (row && row.position >= position) return;
    if (row && isIncomplete(row)) return take({ ...row, position });
    const after = evolve(row);
    if (after === undefined) return;
    if (!Array.isArray(after)) return take(after);
    const [next, ...more] = after;
    take(next);
    for (const one of more) completed.set(one.id, one);
  };
  for (const event of inLogOrder(batch)) {
    try {
      if ('data' in event) {
        for (const one of projection.emptied?.(event) ?? []) completed.set(one.id, one);
        fold(projection.rowId(event), event, (row) => projection.evolve(row, event));
      } else if (!('leaf' in event)) throw new DamagedEvent(event);
      else if (projection.erased) {
        const { rowId, evolve } = projection.erased;
        fold(rowId(event), event, (row) => evolve(row, event, batch.listed.get(event.position)));
      }
    } catch (error) {
      const parked = { position: event.position, eventId: event.id, reason: parkReason(error) };
      await ports.readModels.park(model, parked);
      ports.onParked(model, event, error);
      if (projection.incomplete) take(projection.incomplete(rows.get(event.stream), event as RecordedEvent));
    }
  }
  const all = { model, rows: [...changed].map((id) => rows.get(id) as Row), checkpoint: batch.position };
  // Before the rows that they came from: an interrupted batch is repeated up to those rows' positions.
  if (completed.size === 0) return [all];
  return [{ model, rows: [...completed.values()], checkpoint: 0 }, all];
}

async function loadRows(
  { projection, model }: Target,
  readModels: ReadModels,
  { events, unreadable = [], erased = [] }: ErasureAwareBatch,
): Promise<Map<string, Row>> {
  const ids = new Set(events.map((event) => projection.rowId(event)));
  if (projection.incomplete) for (const { stream } of unreadable) ids.add(stream);
  if (projection.erased) for (const event of erased) ids.add(projection.erased.rowId(event));
  if (ids.size === 0) return new Map();
  const rows = await readModels.load(model, [...ids]);
  return new Map(rows.map((row) => [row.id, row]));
}

/** How often an idle projection checks whether its read model was set back. */
const PAUSE_MS = 1_000;

const batchDuration = measurements.histogram('chartledger.projector.batch.duration', {});
const projected = measurements.counter('chartledger.projector.events', {});

export interface ProjectorPorts extends FoldPorts {
  eventLog: EventLog;
  /** How long events may gather, as in `FollowOptions`. */
  gather?: FollowOptions['gather'];
}

/** A target and its progress. */
interface Progress {
  target: Target;
  /** Types of events; undefined: all. */
  wanted: Set<string> | undefined;
  position: Position;
}

/**
 * Folds the log into read models, from their checkpoints on: until the signal, or until `isDone` returns true for a
 * batch that was written, and the position after which it begins. The log is read once for all of them, from the earliest checkpoint on. Rejects when a store
 * cannot be reached; calling it again continues from the checkpoints, which are read anew because a store that failed
 * over may have lost them, and so may a rebuilt one: that is also checked while nothing is appended.
 */
export async function project(
  targets: readonly Target[],
  ports: ProjectorPorts,
  signal: AbortSignal,
  isDone: (batch: EventBatch, after: Position) => boolean = () => false,
): Promise<void> {
  const { eventLog, readModels, gather } = ports;
  const all = await Promise.all(
    targets.map(async (target): Promise<Progress> => {
      const position = await readModels.checkpoint(target.model);
      const { eventTypes } = target.projection;
      return { target, wanted: eventTypes && new Set(eventTypes), position };
    }),
  );
  const after = Math.min(...all.map(({ position }) => position));
  const wanted = targets.map(({ projection }) => projection.eventTypes);
  const types = wanted.every((some) => some !== undefined) ? [...new Set(wanted.flat())] : undefined;
  const tombstones = new Tombstones(eventLog);
  const wants = types ? { filter: { eventTypes: types } } : { erased: true };
  const follow = (until: AbortSignal) => eventLog.follow({ after, ...wants, gather, signal: until });
  for await (const batch of withPauses(follow, signal)) {
    if (batch === undefined) {
      await readModels.write(
        ...all.map(({ target: { model }, position }) => ({ model, rows: [], checkpoint: position })),
      );
      continue;
    }
    const from = Math.min(...all.map(({ position }) => position));
    const behind = all.filter(({ position }) => position < batch.position);
    const startedAt = performance.now();
    await traced(workOf(batch), async () => {
      const withTombstones = { ...batch, listed: await tombstones.listed(batch.erased) };
      const folded = await Promise.all(
        behind.map(({ target, wanted, position }) =>
          foldBatch(
            target,
            ports,
            ownPart(withTombstones, wanted, (event) => event.position > position),
          ),
        ),
      );
      await readModels.write(...folded.flat());
    });
    batchDuration.observe((performance.now() - startedAt) / 1_000);
    projected.add(batch.events.length);
    for (const progress of behind) progress.position = batch.position;
    if (isDone(batch, from)) return;
  }
}

/** Returns the work of folding a batch: it results from the requests that its events come from. */
function workOf({ events }: EventBatch): TracedWork {
  const links = isTracing() ? events.map(({ metadata }) => metadata.traceparent) : [];
  return { name: 'project', kind: 'CONSUMER', links, attributes: { 'chartledger.events': events.length } };
}

/** Returns what a projection takes of a batch: events of the wanted types (undefined: all) for which `isIn` holds, and erased ones. */
export function ownPart<Batch extends Pick<EventBatch, 'events' | 'unreadable' | 'erased'>>(
  batch: Batch,
  wanted: ReadonlySet<string> | undefined,
  isIn: (event: Pick<RecordedEvent, 'stream' | 'position'>) => boolean,
): Batch {
  const isOwn = (event: Pick<RecordedEvent, 'stream' | 'position'>) =>
    isIn(event) && !isBookkeeping(event.stream);
  const isWanted = (event: Pick<RecordedEvent, 'type' | 'stream' | 'position'>) =>
    isOwn(event) && (wanted?.has(event.type) ?? true);
  const { events, unreadable = [], erased = [] } = batch;
  return {
    ...batch,
    events: events.filter(isWanted),
    unreadable: unreadable.filter(isWanted),
    erased: erased.filter(isOwn),
  };
}

/** Yields what the iteration yields, and `undefined` whenever nothing came for `PAUSE_MS`. */
async function* withPauses<Item>(
  follow: (signal: AbortSignal) => AsyncIterable<Item>,
  signal: AbortSignal,
): AsyncGenerator<Item | undefined> {
  const stop = new AbortController();
  const iterator = follow(AbortSignal.any([signal, stop.signal]))[Symbol.asyncIterator]();
  try {
    for (let next = iterator.next(); ; ) {
      const { promise: pause, resolve } = Promise.withResolvers<undefined>();
      const timer = setTimeout(resolve, PAUSE_MS, undefined);
      const result = await Promise.race([next, pause]).finally(() => clearTimeout(timer));
      if (result?.done) return;
      yield result?.value;
      if (result) next = iterator.next();
    }
  } finally {
    // An iteration waiting for its next item would only then learn that it is to end.
    stop.abort();
    await iterator.return?.();
  }
}

interface AllPorts extends ProjectorPorts, SameLogPorts {
  /** Gets each batch that was folded into all that are kept up to date together, where they take every event. */
  batches?: ProjectedBatches;
}

/** How far, in positions, a read model may be behind the others for the log to be read for them together. */
const NEAR = 10_000;

/**
 * Keeps the read models of all projections up to date with the log, until the signal. They are updated together, so
 * that each event is read once; one that is far behind, such as a new one, catches up by itself while the others
 * continue. One that belongs to another log is rebuilt from the start. Rejects when a store cannot be reached, or the
 * log is another one.
 */
export async function projectAll(
  projections: readonly Projection[],
  ports: AllPorts,
  signal: AbortSignal,
): Promise<void> {
  const targets = projections.map(ownTarget);
  while (!signal.aborted) {
    const positions = await Promise.all(targets.map(({ model }) => loadCheckpoint(model, ports)));
    const furthest: Position = Math.max(...positions);
    const isBehind = (_: Target, index: number) => (positions[index] as Position) < furthest - NEAR;
    const behind = targets.filter(isBehind);
    const together = targets.filter((target, index) => !isBehind(target, index));
    await untilCaughtUp(together, behind, ports, signal);
  }
}

/**
 * Resolves when those behind have caught up: from then on all continue together. With none behind, resolves at the
 * signal.
 */
async function untilCaughtUp(
  together: Target[],
  behind: Target[],
  ports: AllPorts,
  signal: AbortSignal,
): Promise<void> {
  const round = new AbortController();
  const until = AbortSignal.any([signal, round.signal]);
  const { batches } = ports;
  batches?.clear();
  const isAll = together.some(({ projection }) => projection.eventTypes === undefined);
  const keepingUp = project(together, ports, until, (batch, after) => {
    if (isAll) batches?.add(after, batch);
    return false;
  });
  const catchUps = behind.map((target) => project([target], ports, until, ({ caughtUp }) => caughtUp));
  try {
    const ends = behind.length > 0 ? [Promise.all(catchUps), keepingUp] : [keepingUp];
    await Promise.race([...ends, runWhileLogUnchanged(ports.eventLog, until)]);
  } finally {
    round.abort();
    await Promise.allSettled([keepingUp, ...catchUps]);
  }
}

const TRIES = 10;
const RETRY_MS = 1_000;

/** The result of a rebuild. */
interface Rebuilt {
  model: string;
  rowsBefore: number;
  rows: number;
  /** Events that the projection could not process, at most 1,000. */
  parked: number;
}

/**
 * Rebuilds a projection's read model alongside the present one, which continues to serve; then compares the two and
 * replaces the present one with the new one. Rejects with `conflict`, and changes nothing, when the new one has fewer
 * rows, unless `acceptFewer`: rows are never removed, so that indicates a fault.
 */
export async function rebuildProjection(
  projection: Projection,
  ports: ProjectorPorts,
  signal: AbortSignal,
  acceptFewer: boolean,
): Promise<Rebuilt> {
  const { eventLog, readModels } = ports;
  const model = modelName(projection);
  const beside = rebuildOf(model);
  await readModels.begin(beside, await eventLog.identity());
  // Counted first: the present read model keeps growing, and the new one will also have what it has by now.
  const rowsBefore = await readModels.count(model);
  await catchUp(projection, ports, signal, beside);
  signal.throwIfAborted();
  const rows = await readModels.count(beside);
  if (rows < rowsBefore && !acceptFewer) {
    await readModels.drop(beside);
    throw new ServiceError(
      'conflict',
      `${model} has ${rowsBefore} rows, but only ${rows} when rebuilt; it was left as it is.`,
    );
  }
  await readModels.replace(model, beside);
  const parked = await readModels.parked(model);
  return { model, rowsBefore, rows, parked: parked.length };
}

/**
 * Folds the whole log into `model`. A log may take hours, so it waits for a store that cannot be reached for a while
 * in between; it rejects only when several attempts in a row made no progress.
 */
async function catchUp(
  projection: Projection,
  ports: ProjectorPorts,
  signal: AbortSignal,
  model: string,
): Promise<void> {
  let reached = 0;
  for (let failures = 0; ; ) {
    try {
      return await project([{ projection, model }], ports, signal, ({ caughtUp }) => caughtUp);
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      const position = await ports.readModels.checkpoint(model).catch(() => reached);
      failures = position > reached ? 1 : failures + 1;
      if (failures === TRIES) throw error;
      reached = position;
      await sleep(RETRY_MS, undefined, { signal });
    }
  }
}

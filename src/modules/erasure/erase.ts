import { z } from 'zod';
import { bodyOf } from '../../../projections/projection.ts';
import { recordsModel } from '../../../projections/records.ts';
import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { disclosureTypes, erasureStep, tombstoneTypes } from '../../domain/events/payloads.ts';
import { encounterReadinessTypes } from '../../domain/events/readinessEvents.ts';
import { kindOfStream, ownerOfStream, recordStream } from '../../domain/events/streams.ts';
import { catalog } from '../../domain/records/catalog.ts';
import type { CatalogEntry } from '../../domain/records/schema/kind.ts';
import type { ServiceError } from '../../platform/errors.ts';
import { ignoreUnavailable, isUnavailable, pause } from '../../platform/retry.ts';
import type { EventBatch, EventLog } from '../../storage/eventLog.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import type { StateRow, StateTable } from '../../storage/stateStore.ts';
import { untilReached } from '../records/queries/paging.ts';
import type { QueryPorts } from '../records/queries/records.ts';
import { type ErasurePorts, finishErasure, finishErasures, takeAttached, takeDocument } from './finish.ts';
import { Groups } from './groups.ts';
import { currentHolding, ErasureRefused, heldBefore, refuseHeld, requireReason } from './holdState.ts';
import { purgeErased, purgesTable, Throttle } from './purge.ts';
import { findReferrers, type Referrer } from './references.ts';
import { removeErased } from './removal.ts';
import { appendTombstones, type ErasureGuard } from './tombstones.ts';

/**
 * Returns the events up to a position that may have been appended after the erasure of their record: all except those whose
 * record exists in the read model of records. Costs one read of that model; when it lags, all given events are returned.
 */
async function possiblyLate(
  { readModels }: QueryPorts,
  events: readonly RecordedEvent[],
  position: Position,
): Promise<ReadonlySet<RecordedEvent>> {
  if (events.length === 0) return new Set();
  const streams = new Set(events.map(({ stream }) => ownerOfStream(stream)));
  const there = await ignoreUnavailable(thereAt(readModels, [...streams], position));
  return new Set(events.filter(({ stream }) => !there?.has(ownerOfStream(stream))));
}

async function thereAt(
  readModels: ReadModels,
  streams: string[],
  position: Position,
): Promise<ReadonlySet<string>> {
  await untilReached(readModels, recordsModel, position, 'list');
  const rows = await readModels.load(recordsModel, streams);
  return new Set(
    rows.flatMap((row) => {
      const body = bodyOf(row);
      return body && !body.erased ? row.id : [];
    }),
  );
}

/**
 * Erases what was accepted before the erasure of its record but appended after it (a document, an encounter's billing, or what was
 * stated about disclosures of a patient), and returns the last tombstone; nothing if the event is no such case. Can be repeated. Rejects with `unavailable`, and with
 * `unreadable`.
 */
async function eraseLate(ports: ErasurePorts, event: RecordedEvent): Promise<RecordedEvent[]> {
  const { stream, position } = event;
  const [last] = await ports.eventLog.readStream(ownerOfStream(stream), { direction: 'backwards', limit: 1 });
  if (last === undefined || erasureStep(last) !== 'done' || position < last.position) return [];
  // Its record is not erased: a legal hold came first.
  if (await heldBefore(ports.eventLog, last, async () => [])) return [];
  const groups = new Groups();
  const kind = kindOfStream(stream);
  const taken = await (kind === 'document'
    ? takeDocument(ports, last, stream)
    : takeAttached(ports, last, kind === 'disclosures' ? kind : 'readiness'));
  await removeErased(ports, groups, taken);
  groups.throwUnread();
  return taken;
}

/** How long events gather, and how often what could not be completed is tried again. */
const GATHER_MS = 1_000;
/** How many positions the log advances before the place is saved without an erasure. */
const PLACE_EVERY = 10_000;

/** Event types that may be appended after the erasure of their record. */
const lateTypes: readonly string[] = ['DocumentUploaded', ...encounterReadinessTypes, ...disclosureTypes];
const isLateType = ({ type }: RecordedEvent) => lateTypes.includes(type);

/** How far erasures are complete in each log, by the log's identity. */
const placeTable: StateTable<{ position: Position }> = {
  name: 'erasures_v1',
  body: z.object({ position: z.number() }),
};

/**
 * Until the signal, completes every erasure in the log, including those that another process began and did not survive to finish,
 * erases what was appended after the erasure of its record, and purges the bytes from the stores' files. If the place is lost,
 * completed erasures are just checked again. `onFailure` is called for one that comes to an event that cannot be read: the next
 * call begins with it again, and the others are completed; and for a purge that failed, which alone is repeated. Rejects with
 * `unavailable`.
 */
export async function completeErasures(
  ports: ErasurePorts,
  signal: AbortSignal,
  onFailure: (error: ServiceError) => void = () => undefined,
): Promise<void> {
  const { eventLog, stateStore } = ports;
  const log = await eventLog.identity();
  const [row] = await stateStore.load(placeTable, [log]);
  const isPlace = row !== undefined && (await eventLog.hasPosition(row.body.position));
  const after = isPlace ? row.body.position : 0;
  if (row && !isPlace) {
    for (const table of [placeTable, purgesTable])
      await stateStore.remove(table, [log], Number.MAX_SAFE_INTEGER);
  }
  // The place is saved after a purge.
  if (isPlace) await stateStore.save(purgesTable, [placeRow(log, after)]);
  let saved = after;
  /** Everything up to here is complete. */
  let reached = after;
  let isWhole = true;
  let toPurge = false;
  /** Ids of last tombstones beyond the position that are finished. */
  const finished = new Set<string>();
  const pace = new Throttle();
  for await (const { events, position, caughtUp } of followTombstones(eventLog, after, signal)) {
    const late = await possiblyLate(ports, events.filter(isLateType), position);
    const dones = events.filter((event) => erasureStep(event) === 'done');
    // What a patient took with it was finished with the patient, and comes behind it.
    const others = dones.filter(({ id }) => !finished.delete(id));
    const groups = new Groups(signal);
    try {
      const tombstones = await finishErasures(ports, groups, others);
      for (const { id, position: at } of tombstones) if (at > position) finished.add(id);
      const lateErased = await groups.each([...late], (event) => eraseLate(ports, event));
      // Callers wait for a purge up to the last of their tombstones.
      const isErased = others.length < dones.length || tombstones.length + lateErased.length > 0;
      toPurge = isErased || toPurge;
    } catch (error) {
      if (signal.aborted) return;
      throw error;
    }
    if (groups.unread) {
      isWhole = false;
      // The rest is erased.
      toPurge = true;
      onFailure(groups.unread);
    }
    if (isWhole) reached = position;
    if (!caughtUp || (toPurge ? !pace.isDue : position <= saved + PLACE_EVERY)) continue;
    if (toPurge) {
      const failure = await pace.during(purgeErased(ports, signal)).catch(asUnavailable);
      if (signal.aborted) return;
      if (failure) {
        onFailure(failure);
        continue;
      }
      await stateStore.save(purgesTable, [placeRow(log, position)]);
    }
    toPurge = false;
    saved = position;
    if (reached > after) await stateStore.save(placeTable, [placeRow(log, reached)]);
  }
}

function placeRow(log: string, position: Position): StateRow<{ position: Position }> {
  return { id: log, partition: log, order: 0, revision: position, body: { position } };
}

/** Returns an error that a repeat may overcome; throws any other. */
function asUnavailable(error: unknown): ServiceError {
  if (isUnavailable(error)) return error;
  throw error;
}

/** Yields batches of tombstones, and of events that may be late, after a position, at least one per second, until the signal. */
async function* followTombstones(
  eventLog: EventLog,
  after: Position,
  signal: AbortSignal,
): AsyncGenerator<EventBatch> {
  const filter = { eventTypes: [...tombstoneTypes, ...lateTypes] };
  const gather = (until: AbortSignal) => pause(GATHER_MS, until);
  const stop = new AbortController();
  const until = AbortSignal.any([signal, stop.signal]);
  const batches = eventLog.follow({ after, filter, gather, signal: until })[Symbol.asyncIterator]();
  let last: EventBatch = { events: [], position: after, caughtUp: false };
  try {
    for (;;) {
      const arrived = new AbortController();
      const next = batches.next().finally(() => arrived.abort());
      // It is awaited later, and may fail before that.
      next.catch(() => undefined);
      for (;;) {
        await pause(GATHER_MS, arrived.signal);
        if (arrived.signal.aborted) break;
        yield { ...last, events: [] };
      }
      const { value, done } = await next;
      if (done) return;
      last = value;
      yield last;
    }
  } finally {
    stop.abort();
  }
}

/** The number of each kind, in words: `2 encounters and 1 document`. Empty when there are none. */
export function countByKind(kinds: readonly string[]): string {
  const counts = Map.groupBy(kinds, (kind) => kind);
  return [...counts]
    .map(([kind, { length }]) => `${length.toLocaleString('en-US')} ${length === 1 ? kind : pluralOf(kind)}`)
    .join(' and ');
}

function pluralOf(kind: string): string {
  return catalog.find((entry) => entry.kind === kind)?.plural ?? `${kind}s`;
}

interface EraseOptions {
  /** The reason, in words that do not reveal whom it concerns: it is kept. */
  reason: string;
  /** For a patient: also erases the encounters that refer to it, with their documents. */
  withEncounters?: boolean;
  /** Checks again, right before the erasure, whether to erase; rejects if not. */
  lookAgain?: ErasureGuard;
}

/** An erasure that is recorded in the log. */
export interface RecordedErasure {
  /** The last tombstones of everything erased, the record's own first; for an incomplete erasure, only that one. */
  tombstones: RecordedEvent[];
  /**
   * Whether only tombstones are left in the event log and the document store. Otherwise the service completes the erasure in the
   * background.
   */
  isComplete: boolean;
}

/**
 * Permanently erases a record; an encounter together with its documents. Read models follow. Rejects with `not_found`, with
 * `gone` when it is already erased, with `conflict` (`ErasureRefused`) when it or what goes with it is under legal hold or when
 * other records refer to it, with `validation_failed` without a reason, with `unreadable`, and with `unavailable` as long as
 * nothing was erased; if interrupted after its first tombstone, it is completed by the service.
 */
export async function eraseRecord(
  ports: ErasurePorts,
  caller: Caller,
  entry: CatalogEntry,
  id: string,
  { reason, withEncounters = false, lookAgain }: EraseOptions,
): Promise<RecordedErasure> {
  const text = requireReason(reason);
  const { workspace } = caller;
  const { kind, title } = entry;
  const stream = recordStream(workspace, kind, id);
  const referrers = await findReferrers(ports, workspace, kind, id);
  const takesEncounters = kind === 'patient' && withEncounters;
  const guard: ErasureGuard = async (last) => {
    await lookAgain?.(last);
    const holding = await currentHolding(ports.eventLog, workspace, { kind, id }, async () => referrers);
    refuseHeld(title, holding);
    if (referrers.length > 0 && !takesEncounters) throw stillReferredTo(entry, referrers);
  };
  const erasure = {
    kind,
    record_id: id,
    reason: text,
    ...(takesEncounters && { with_encounters: true as const }),
  };
  const done = await appendTombstones(ports.eventLog, caller, stream, title, erasure, guard);
  const finished = await ignoreUnavailable(finishErasure(ports, done));
  return asErasure(done, finished);
}

function asErasure(done: RecordedEvent, finished: RecordedEvent[] | undefined): RecordedErasure {
  return { tombstones: finished ?? [done], isComplete: finished !== undefined };
}

function stillReferredTo({ title, kind }: CatalogEntry, referrers: Referrer[]): ErasureRefused {
  const counts = countByKind(referrers.map((referrer) => referrer.kind));
  const verb = referrers.length === 1 ? 'refers' : 'refer';
  const way = kind === 'patient' ? 'Erase those first, or together with the patient.' : 'Erase those first.';
  return new ErasureRefused(
    'referred_to',
    `${title} cannot be erased: ${counts} still ${verb} to it. ${way}`,
  );
}

/**
 * Returns the erasure of an erased record, completing it if it was interrupted; undefined when the stream is not erased. Rejects
 * with `unavailable` when the event log is unreachable, and with `unreadable`.
 */
export async function erasureOf(ports: ErasurePorts, stream: string): Promise<RecordedErasure | undefined> {
  const { eventLog } = ports;
  const [done] = await eventLog.readStream(stream, { direction: 'backwards', limit: 1 });
  if (done === undefined || erasureStep(done) !== 'done') return undefined;
  return asErasure(done, await ignoreUnavailable(finishErasure(ports, done)));
}

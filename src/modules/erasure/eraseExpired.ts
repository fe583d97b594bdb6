import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { recordStream } from '../../domain/events/streamNames.ts';
import { catalogEntry } from '../../domain/records/catalog.ts';
import { ServiceError, UnreadableError } from '../../platform/errors.ts';
import { patiently } from '../../platform/patiently.ts';
import type { RetentionPolicy } from '../auth/retention.ts';
import { doneTombstone } from './appendTombstones.ts';
import { ErasureRefused } from './ErasureRefused.ts';
import { eraseRecord } from './eraseRecord.ts';
import { type ExpiredRecord, findExpired, retentionCaughtUp } from './findExpired.ts';
import { type ErasurePorts, finishErasure } from './finishErasure.ts';
import { RecordAges } from './RecordAges.ts';

/** What is erased in a workspace, and why. */
export interface Expiry extends Pick<RetentionPolicy, 'before'> {
  /** The reason given in the tombstones. */
  reason: string;
}

/** Returns what a retention policy expires. */
export function expiryOf({ years, before }: RetentionPolicy): Expiry {
  const reason = `Retention of ${years} years: not changed, and without an encounter, since ${before.slice(0, 10)}`;
  return { before, reason };
}

/** The outcome for the expired records. */
export interface RetentionTally {
  erased: number;
  /** Encounters erased with their patients. */
  encounters: number;
  held: number;
  /** Still referred to by records that remain. */
  referred_to: number;
  /** In use again when their turn came. */
  changed: number;
  /** History not readable by this version of the service. */
  unreadable: number;
}

/** The outcome of a whole run. */
export interface RetentionResult extends RetentionTally {
  /** Position of the last tombstone; undefined if nothing was erased. */
  position: Position | undefined;
}

interface RetentionRun {
  /** Maximum number of records, a patient with its encounters counted as one. */
  limit: number;
  /** Called after each batch. */
  onBatch(tally: Readonly<RetentionTally>): void;
}

type Kept = 'held' | 'referred_to' | 'changed' | 'unreadable';

/** Thrown by the last check when a record is in use again. */
class ChangedMeanwhile extends Error {}

/**
 * Erases a workspace's expired records, one at a time, a patient with its encounters; those under legal hold, still referred to,
 * or in use again right before their tombstone are kept and counted. An interruption leaves nothing half done, and another call
 * continues with what is left. Rejects with `unavailable`.
 */
export async function eraseExpired(
  ports: ErasurePorts,
  caller: Caller,
  expiry: Expiry,
  { limit, onBatch }: RetentionRun,
): Promise<RetentionResult> {
  let position: Position | undefined;
  const tally = { erased: 0, encounters: 0, held: 0, referred_to: 0, changed: 0, unreadable: 0 };
  for await (const records of findExpired(ports, caller.workspace, expiry.before)) {
    for (const record of records) {
      if (tally.erased === limit) return { ...tally, position };
      const outcome = record.state === 'due' ? await eraseOne(ports, caller, expiry, record) : record.state;
      if (typeof outcome === 'string') tally[outcome] += 1;
      else {
        tally.erased += 1;
        position = Math.max(position ?? 0, ...outcome.map((tombstone) => tombstone.position));
        tally.encounters += record.encounters;
      }
    }
    onBatch(tally);
  }
  return { ...tally, position };
}

/** Retries when a store is unreachable, or a read model lags behind earlier erasures. */
async function eraseOne(
  ports: ErasurePorts,
  caller: Caller,
  expiry: Expiry,
  record: ExpiredRecord,
): Promise<RecordedEvent[] | Kept> {
  try {
    return await patiently(() => eraseDue(ports, caller, expiry, record));
  } catch (error) {
    if (error instanceof ChangedMeanwhile) return 'changed';
    if (error instanceof ErasureRefused) return error.obstacle;
    if (error instanceof UnreadableError) return 'unreadable';
    if (error instanceof ServiceError && error.code === 'gone')
      return patiently(() => finishOwn(ports, caller, record));
    throw error;
  }
}

async function eraseDue(
  ports: ErasurePorts,
  caller: Caller,
  { reason, before }: Expiry,
  { kind, id }: ExpiredRecord,
): Promise<RecordedEvent[]> {
  const { workspace } = caller;
  const ages = new RecordAges(ports.readModels, workspace, before);
  const stream = recordStream(workspace, kind, id);
  const lookAgain = async (last: RecordedEvent) => {
    // A write after this event restarts the erasure.
    if (last.recordedAt >= before) throw new ChangedMeanwhile();
    await retentionCaughtUp(ports);
    const age = await ages.of(kind, (await ages.load([stream])).get(stream));
    if (age === undefined) throw new ChangedMeanwhile();
  };
  const withEncounters = kind === 'patient';
  const options = { reason, withEncounters, lookAgain };
  const { tombstones, isComplete } = await eraseRecord(ports, caller, catalogEntry(kind), id, options);
  return isComplete ? tombstones : finishErasure(ports, tombstones[0] as RecordedEvent);
}

/** Continues after the tombstone where an earlier try was interrupted; otherwise another process got there first. */
async function finishOwn(
  ports: ErasurePorts,
  { workspace, requestId }: Caller,
  { kind, id }: ExpiredRecord,
): Promise<RecordedEvent[] | Kept> {
  const done = await doneTombstone(ports.eventLog, recordStream(workspace, kind, id), requestId);
  try {
    return done ? await finishErasure(ports, done) : 'changed';
  } catch (error) {
    if (error instanceof ErasureRefused) return error.obstacle;
    throw error;
  }
}

import { ServiceError, UnreadableError } from '../../errors.ts';
import type { RecordedEvent } from '../../events/event.ts';
import type { Caller } from '../../events/newEvent.ts';
import { recordStream } from '../../events/streamNames.ts';
import type { RetentionPolicy } from '../../principals/keys/retention.ts';
import { catalogEntry } from '../../records/catalog.ts';
import { doneTombstone } from '../appendTombstones.ts';
import { ErasureRefused } from '../ErasureRefused.ts';
import { eraseRecord } from '../eraseRecord.ts';
import { type ErasurePorts, finishErasure } from '../finishErasure.ts';
import { patiently } from '../patiently.ts';
import { type ExpiredRecord, findExpired, retentionCaughtUp } from './findExpired.ts';
import { RecordAges } from './RecordAges.ts';

/** What is erased in a workspace, and why. */
export interface Expiry extends Pick<RetentionPolicy, 'before'> {
  /** The reason that the tombstones tell. */
  reason: string;
}

/** What is beyond the time of a retention. */
export function expiryOf({ years, before }: RetentionPolicy): Expiry {
  const reason = `Retention of ${years} years: not changed, and without an encounter, since ${before.slice(0, 10)}`;
  return { before, reason };
}

/** What became of the records that were beyond the time. */
export interface RetentionTally {
  erased: number;
  /** Encounters that went with their patients. */
  encounters: number;
  held: number;
  /** Others refer to them that remain. */
  referred_to: number;
  /** Of use again when their turn came. */
  changed: number;
  /** Their history cannot be read by this version of the service. */
  unreadable: number;
}

interface RetentionRun {
  /** At most so many records, a patient with its encounters counted as one. */
  limit: number;
  /** Told after each batch. */
  onBatch(tally: Readonly<RetentionTally>): void;
}

type Kept = 'held' | 'referred_to' | 'changed' | 'unreadable';

/** Thrown by the last look at a record that is of use again. */
class ChangedMeanwhile extends Error {}

/**
 * Erases what is beyond the time of a workspace's retention, one record after the other, a patient with its encounters; what is
 * under legal hold, still referred to, or of use again right before its tombstone, is kept and counted. Cut off at any moment it
 * leaves nothing half done, and called again it goes on with what is left. Rejects with `unavailable`.
 */
export async function eraseExpired(
  ports: ErasurePorts,
  caller: Caller,
  expiry: Expiry,
  { limit, onBatch }: RetentionRun,
): Promise<RetentionTally> {
  const tally = { erased: 0, encounters: 0, held: 0, referred_to: 0, changed: 0, unreadable: 0 };
  for await (const records of findExpired(ports, caller.workspace, expiry.before)) {
    for (const record of records) {
      if (tally.erased === limit) return tally;
      const outcome = record.state === 'due' ? await eraseOne(ports, caller, expiry, record) : record.state;
      if (typeof outcome === 'string') tally[outcome] += 1;
      else {
        tally.erased += 1;
        tally.encounters += record.encounters;
      }
    }
    onBatch(tally);
  }
  return tally;
}

/** Tries again where a store is away, or a read model does not keep up with what was erased before. */
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
    // A write that comes after this event begins the erasure again.
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

/** Goes on where an earlier try was cut off behind the tombstone; otherwise another process was quicker. */
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

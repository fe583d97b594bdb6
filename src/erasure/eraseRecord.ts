import { ServiceError } from '../errors.ts';
import type { RecordedEvent } from '../events/event.ts';
import type { Caller } from '../events/newEvent.ts';
import { recordStream } from '../events/streamNames.ts';
import type { CatalogEntry } from '../records/catalog.ts';
import { validationError } from '../records/validate.ts';
import { appendTombstones } from './appendTombstones.ts';
import { countByKind } from './countByKind.ts';
import { findReferrers, type Referrer } from './findReferrers.ts';
import { type ErasurePorts, finishErasure } from './finishErasure.ts';
import { unlessUnavailable } from './unlessUnavailable.ts';

const MAX_REASON = 1_000;

export interface EraseOptions {
  /** Why, in words that say nothing of whom it concerns: it stays. */
  reason: string;
  /** Of a patient: the encounters that refer to it, too, with their documents. */
  withEncounters?: boolean;
}

/** An erasure that is in the log. */
export interface RecordedErasure {
  /** The last tombstones of all that was erased, the record's own first; of an erasure that is not complete that one alone. */
  tombstones: RecordedEvent[];
  /** Nothing but tombstones is left in the event log and the document store. Otherwise the service goes on with it by itself. */
  isComplete: boolean;
}

/**
 * Erases a record for good, an encounter with its documents; read models follow. Rejects with `not_found`, with `gone` when it
 * is erased already, with `conflict` when others refer to it, with `validation_failed` without a reason, with `unreadable`, and
 * with `unavailable` as long as nothing was erased; cut off behind its first tombstone it is finished by the service.
 */
export async function eraseRecord(
  ports: ErasurePorts,
  caller: Caller,
  entry: CatalogEntry,
  id: string,
  { reason, withEncounters = false }: EraseOptions,
): Promise<RecordedErasure> {
  const said = reason.trim();
  if (said === '' || said.length > MAX_REASON) {
    throw validationError([{ field: 'reason', message: `must have 1 to ${MAX_REASON} characters` }]);
  }
  const stream = recordStream(caller.workspace, entry.kind, id);
  const referrers = await findReferrers(ports, caller.workspace, entry.kind, id);
  const takesEncounters = entry.kind === 'patient' && withEncounters;
  if (referrers.length > 0 && !takesEncounters) throw stillReferredTo(entry, referrers);
  const done = await appendTombstones(ports.eventLog, caller, stream, entry.title, {
    kind: entry.kind,
    record_id: id,
    reason: said,
    ...(takesEncounters && { with_encounters: true as const }),
  });
  const finished = await unlessUnavailable(finishErasure(ports, done));
  return finished ? { tombstones: finished, isComplete: true } : { tombstones: [done], isComplete: false };
}

function stillReferredTo({ title, kind }: CatalogEntry, referrers: Referrer[]): ServiceError {
  const counts = countByKind(referrers.map((referrer) => referrer.kind));
  const verb = referrers.length === 1 ? 'refers' : 'refer';
  const way = kind === 'patient' ? 'Erase those first, or together with the patient.' : 'Erase those first.';
  return new ServiceError('conflict', `${title} cannot be erased: ${counts} still ${verb} to it. ${way}`);
}

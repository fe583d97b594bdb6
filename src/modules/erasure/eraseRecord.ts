import type { RecordedEvent } from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { recordStream } from '../../domain/events/streamNames.ts';
import type { CatalogEntry } from '../../domain/records/catalog.ts';
import { unlessUnavailable } from '../../platform/unlessUnavailable.ts';
import { appendTombstones, type ErasureGuard } from './appendTombstones.ts';
import { countByKind } from './countByKind.ts';
import { currentHolding } from './currentHolding.ts';
import { ErasureRefused } from './ErasureRefused.ts';
import { findReferrers, type Referrer } from './findReferrers.ts';
import { type ErasurePorts, finishErasure } from './finishErasure.ts';
import { refuseHeld } from './holdsOver.ts';
import { requireReason } from './requireReason.ts';

export interface EraseOptions {
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
  const said = requireReason(reason);
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
    reason: said,
    ...(takesEncounters && { with_encounters: true as const }),
  };
  const done = await appendTombstones(ports.eventLog, caller, stream, title, erasure, guard);
  const finished = await unlessUnavailable(finishErasure(ports, done));
  return finished ? { tombstones: finished, isComplete: true } : { tombstones: [done], isComplete: false };
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

import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import { recordStream } from '../../domain/events/streamNames.ts';
import { catalogEntry } from '../../domain/records/catalog.ts';
import { evolveRecord, type RecordState } from '../../domain/records/fold.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import { referredIds } from '../../domain/records/referredIds.ts';
import { asUnreadable, UnreadableError } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { type Evolve, foldStream } from '../records/queries/foldStream.ts';
import type { FoundReferrer } from './findReferrers.ts';

/**
 * Returns those referrers of a patient, as `findReferrers` does, that also referred to it, or to a patient then merged into it, at a
 * position: what came to it since belongs to others. The log is only asked where one of them was changed since. Rejects with
 * `unavailable`.
 */
export async function referringAt(
  eventLog: EventLog,
  workspace: string,
  patientId: string,
  found: readonly FoundReferrer[],
  at: Position,
): Promise<FoundReferrer[]> {
  if (found.every(({ position }) => position < at)) return [...found];
  const isWanted = ({ position }: RecordedEvent) => position < at;
  const patients = new Set([patientId]);
  const referring: FoundReferrer[] = [];
  // A patient comes behind what refers to it.
  for (const one of found.toReversed()) {
    const evolve: Evolve<RecordState> = (state, event) => evolveRecord(one.kind, state, event);
    const stream = recordStream(workspace, one.kind, one.id);
    const then = await foldStream(eventLog, stream, evolve, { isWanted }).catch(asUnreadable);
    // Of what cannot be read, only the present is known.
    const isReferring = then instanceof UnreadableError || namesOneOf(patients, one.kind, then);
    if (!isReferring) continue;
    if (one.kind === patient.kind) patients.add(one.id);
    referring.unshift(one);
  }
  return referring;
}

function namesOneOf(patients: ReadonlySet<string>, kind: string, state: RecordState | undefined): boolean {
  const ids = state === undefined ? [] : referredIds(catalogEntry(kind), state.fields, patient.kind);
  return ids.some((id) => patients.has(id));
}

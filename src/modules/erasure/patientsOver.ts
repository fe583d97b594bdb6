import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import { recordStream } from '../../domain/events/streamNames.ts';
import type { RecordFields } from '../../domain/records/catalog.ts';
import { evolveRecord, type RecordState } from '../../domain/records/fold.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { type FoldRange, foldStream } from '../records/queries/foldStream.ts';

/**
 * Returns the ids of the patients whose holds protect a record in addition to its own: for an encounter its patient and the
 * patients into which that one was merged; for a patient those into which it was merged. As of every write acknowledged before
 * the call; `version`: as of this version of the record; `before`: considers only merges before this position. Rejects with
 * `unreadable` and `unavailable`.
 */
export async function patientsOver(
  eventLog: EventLog,
  workspace: string,
  { kind, id }: { kind: string; id: string },
  { version, before = Number.POSITIVE_INFINITY }: { version?: number | undefined; before?: Position } = {},
): Promise<string[]> {
  if (kind !== 'encounter' && kind !== 'patient') return [];
  const fieldsOf = async (of: string, one: string, range: FoldRange<RecordState>) => {
    const evolve = (state: RecordState | undefined, event: RecordedEvent) => evolveRecord(of, state, event);
    const state = await foldStream<RecordState>(eventLog, recordStream(workspace, of, one), evolve, range);
    return (state?.fields ?? {}) as Partial<RecordFields>;
  };
  const own = await fieldsOf(kind, id, { ...(version !== undefined && { version }) });
  const isWanted = ({ position }: RecordedEvent) => position < before;
  const over = new Set<string>();
  for (let next = kind === 'encounter' ? own.patient_id : own.merged_into; typeof next === 'string'; ) {
    if (over.has(next) || (kind === 'patient' && next === id)) break;
    over.add(next);
    next = (await fieldsOf('patient', next, { isWanted })).merged_into;
  }
  return [...over];
}

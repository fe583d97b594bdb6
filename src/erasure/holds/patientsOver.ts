import type { Position, RecordedEvent } from '../../events/event.ts';
import { recordStream } from '../../events/streamNames.ts';
import type { EventLog } from '../../ports/eventLog.ts';
import { type FoldRange, foldStream } from '../../reads/foldStream.ts';
import type { RecordFields } from '../../records/catalog.ts';
import { evolveRecord, type RecordState } from '../../records/fold.ts';

/**
 * The ids of the patients whose holds protect a record beside its own: of an encounter the patient that it is of, of that one and of a patient those into
 * whom they were merged. As of every write acknowledged before the call; `version`: by this one of the record; `before`: by merges before a
 * position. Rejects with `unreadable` and `unavailable`.
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

import { recordStream } from '../../events/streamNames.ts';
import type { EventLog } from '../../ports/eventLog.ts';
import { foldStream } from '../../reads/foldStream.ts';
import { evolveRecord, type RecordState } from '../../records/fold.ts';

/**
 * The id of the patient that an encounter is of, as of every write acknowledged before the call, or as of a version; undefined when the
 * encounter is not there. Rejects with `unreadable` and `unavailable`.
 */
export async function patientOf(
  eventLog: EventLog,
  workspace: string,
  encounterId: string,
  version?: number,
): Promise<string | undefined> {
  const stream = recordStream(workspace, 'encounter', encounterId);
  const evolve = (state: RecordState | undefined, event: Parameters<typeof evolveRecord>[2]) =>
    evolveRecord('encounter', state, event);
  const state = await foldStream<RecordState>(eventLog, stream, evolve, {
    ...(version !== undefined && { version }),
  });
  return state?.fields.patient_id as string | undefined;
}

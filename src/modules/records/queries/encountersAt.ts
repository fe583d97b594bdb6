import { patientReferencesModel, referrersPartition } from '../../../../projections/records.ts';
import { kindOfStream, recordIdOf, recordStream } from '../../../domain/events/streamNames.ts';
import { encounter } from '../../../domain/records/kinds/encounter.ts';
import { patient } from '../../../domain/records/kinds/patient.ts';
import { ServiceError, UnreadableError } from '../../../platform/errors.ts';
import { caughtUp } from './page.ts';
import type { QueryPorts, RecordView } from './readRecord.ts';
import { readRecordAt } from './recordHistory.ts';

/** Encounters looked at for one answer. */
const MOST_ENCOUNTERS = 200;
const AT_ONCE = 16;

/** The encounters of a patient at a moment. */
interface EncountersAt {
  /** As they were then, most recently changed first. */
  items: RecordView[];
  /** Whether all were looked at; if not, only the patient's first 200 were. */
  isWhole: boolean;
  /** The caller's ids of the encounters left out because an event in their history cannot be read by this process. */
  unreadable: string[];
}

/**
 * Resolves with the encounters that belonged to a patient at an instant (ms since 1970 UTC), whoever they belong to
 * now, from the log; those erased since are left out. Rejects with `unavailable`.
 */
export async function encountersAt(
  ports: QueryPorts,
  workspace: string,
  patientId: string,
  asOf: number,
): Promise<EncountersAt> {
  await caughtUp(ports, patientReferencesModel, 'list of encounters');
  const partition = referrersPartition(recordStream(workspace, patient.kind, patientId));
  const rows = await ports.readModels.page(patientReferencesModel, { partition, limit: MOST_ENCOUNTERS + 1 });
  const ids = rows
    .slice(0, MOST_ENCOUNTERS)
    .filter(({ body }) => kindOfStream(body.stream) === encounter.kind)
    .map(({ body }) => recordIdOf(body.stream));
  const items: RecordView[] = [];
  const unreadable: string[] = [];
  const look = async (id: string) => {
    try {
      const view = await readRecordAt(ports.eventLog, workspace, encounter, id, { asOf });
      if (view.record.patient_id === patientId) items.push(view);
    } catch (error) {
      if (error instanceof UnreadableError) unreadable.push(id);
      else if (!isAbsent(error)) throw error;
    }
  };
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    await Promise.all(ids.slice(at, at + AT_ONCE).map(look));
  }
  return {
    items: items.toSorted((a, b) => b.updated_at.localeCompare(a.updated_at)),
    isWhole: rows.length <= MOST_ENCOUNTERS,
    unreadable,
  };
}

/** Whether a record did not exist yet, or was erased since. */
function isAbsent(error: unknown): boolean {
  return error instanceof ServiceError && (error.code === 'not_found' || error.code === 'gone');
}

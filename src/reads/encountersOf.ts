import { isIncomplete } from '../../projections/projection.ts';
import { kindPartition, recordIdOf } from '../events/streamNames.ts';
import { encounter } from '../records/kinds/encounter.ts';
import type { QueryPorts } from './readRecord.ts';
import { readRecordsPage } from './recordsPage.ts';

/** An encounter's place among those of its patient. */
export interface EncounterPlace {
  id: string;
  /** Position of its first event. */
  first: number;
  /** Position of its last event. */
  last: number;
}

/**
 * The encounters of a patient, those first that changed last, and whether these are all; without those that cannot be read, as nobody
 * knows whose they are. Rejects with `unavailable`.
 */
export async function encountersOf(
  ports: QueryPorts,
  workspace: string,
  patientId: string,
  limit: number,
): Promise<{ places: EncounterPlace[]; isWhole: boolean }> {
  const { items, next_page_token } = await readRecordsPage(ports, kindPartition(workspace, encounter.kind), {
    limit,
    pageToken: undefined,
    sort: '-updated_at',
    filters: [{ field: 'patient_id', value: patientId }],
  });
  const places = items
    .filter((row) => !isIncomplete(row))
    .map(({ id, order, position }) => ({ id: recordIdOf(id), first: order, last: position }));
  return { places, isWhole: next_page_token === null };
}

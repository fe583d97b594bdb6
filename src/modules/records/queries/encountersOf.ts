import { isIncomplete } from '../../../../projections/projection.ts';
import { kindPartition, recordIdOf } from '../../../domain/events/streamNames.ts';
import { encounter } from '../../../domain/records/kinds/encounter.ts';
import { mergedPatients } from './mergedPatients.ts';
import type { QueryPorts } from './readRecord.ts';
import { readRecordsPage } from './recordsPage.ts';

/** An encounter's place among its patient's encounters. */
export interface EncounterPlace {
  id: string;
  /** Position of its first event. */
  first: number;
  /** Position of its last event. */
  last: number;
}

/**
 * Resolves with the encounters of a patient and of those merged into that patient, most recently changed first, and
 * whether these are all; encounters that cannot be read are left out, as nobody knows whose they are. Rejects with
 * `unavailable`.
 */
export async function encountersOf(
  ports: QueryPorts,
  workspace: string,
  patientId: string,
  limit: number,
): Promise<{ places: EncounterPlace[]; isWhole: boolean }> {
  const pageOf = (value: string) =>
    readRecordsPage(ports, kindPartition(workspace, encounter.kind), {
      limit,
      pageToken: undefined,
      sort: '-updated_at',
      filters: [{ field: 'patient_id', value }],
    });
  const own = await pageOf(patientId);
  // By now the read model has everything acknowledged before the call.
  const merged = await mergedPatients(ports.readModels, workspace, patientId);
  const others = await Promise.all(merged.map(({ id }) => pageOf(recordIdOf(id))));
  const pages = [own, ...others];
  const places = pages
    .flatMap(({ items }) => items)
    .filter((row) => !isIncomplete(row))
    .map(({ id, order, position }) => ({ id: recordIdOf(id), first: order, last: position }))
    .sort((one, other) => other.last - one.last);
  const isWhole = pages.every(({ next_page_token }) => next_page_token === null) && places.length <= limit;
  return { places: places.slice(0, limit), isWhole };
}

import { dayOf } from './rules/faults.ts';
import { type ReadinessState, readinessStates } from './rules/findings.ts';
import { codesOf, type WorklistEntry } from './worklistEntry.ts';

/** A filter of the worklist, besides the state. */
export type WorklistFilter = { by: 'rule' | 'payer' | 'facility' | 'provider' | 'day'; value: string };

export const MINUTE_MS = 60_000;

/** Returns the partition that lists the encounters of a workspace. */
export function worklistPartition(workspace: string): string {
  return `${workspace}.encounter`;
}

/** Returns the list of the encounters in a state, or of those of them that match a filter. */
export function listOf(state: ReadinessState, filter?: WorklistFilter): string {
  return filter === undefined ? state : `${state} ${filter.by}=${filter.value}`;
}

/** Returns the filters that an encounter matches. */
export function filtersOf(entry: WorklistEntry): WorklistFilter[] {
  const { payer_id, facility_id, provider_id, date_of_service } = entry;
  const filters: { by: WorklistFilter['by']; value: string | undefined }[] = [
    ...codesOf(entry).map((value) => ({ by: 'rule', value }) as const),
    { by: 'payer', value: payer_id },
    { by: 'facility', value: facility_id },
    { by: 'provider', value: provider_id },
    { by: 'day', value: date_of_service && dayOf(date_of_service) },
  ];
  return filters.filter((one): one is WorklistFilter => one.value !== undefined);
}

/** Returns all lists that an encounter is on. */
export function listsOf(entry: WorklistEntry): string[] {
  const { state, patient_id, merged_patient_ids = [], provider_id, rendering_provider_id, flips_at } = entry;
  const isOther = rendering_provider_id !== undefined && rendering_provider_id !== provider_id;
  return [
    listOf(state),
    ...filtersOf(entry).map((filter) => listOf(state, filter)),
    ...(patient_id === undefined ? [] : [patient_id, ...merged_patient_ids].map((id) => `patient=${id}`)),
    ...(isOther ? [`rendering=${rendering_provider_id}`] : []),
    ...namedEncounters(entry).map((id) => `encounter=${id}`),
    ...(flips_at === undefined ? [] : [flipsList(minuteOf(flips_at))]),
  ];
}

/**
 * Returns the lists of the encounters that depend on a record. Given states, they leave out encounters in others as
 * far as lists can.
 */
export function listsResting(
  kind: string,
  id: string,
  states: readonly ReadinessState[] = readinessStates,
): string[] {
  if (kind === 'patient' || kind === 'encounter') return [`${kind}=${id}`];
  const filter = { by: kind as 'payer' | 'facility' | 'provider', value: id };
  const lists = states.map((state) => listOf(state, filter));
  return kind === 'provider' ? [...lists, `rendering=${id}`] : lists;
}

/** Returns the other encounters at fault. */
function namedEncounters({ encounter_id, findings }: WorklistEntry): string[] {
  const ids = findings.flatMap(({ kind, id }) => (kind === 'encounter' && id !== encounter_id ? [id] : []));
  return [...new Set(ids)];
}

/** Returns the list of the encounters whose next finding begins or ends within a minute. */
export function flipsList(minute: number): string {
  return `flips=${minute}`;
}

/** Returns the minute, counted from 1970, of a moment in milliseconds. */
export function minuteOf(moment: number): number {
  return Math.floor(moment / MINUTE_MS);
}

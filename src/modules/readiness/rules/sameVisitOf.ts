import { encounter as entry } from '../../../domain/records/kinds/encounter.ts';
import { visitList } from '../../../domain/records/visits.ts';
import { isVoid } from './faults.ts';
import type { BilledRecord } from './rule.ts';

/** The others, among records, that are encounters of the same visit, in their order. Void ones are of no visit. */
export function sameVisitOf(
  encounter: BilledRecord,
  records: readonly (BilledRecord | undefined)[],
): BilledRecord[] {
  const visit = isVoid(encounter) ? undefined : visitList(encounter.fields);
  if (visit === undefined) return [];
  return records.filter(
    (one): one is BilledRecord =>
      one?.kind === entry.kind && one.id !== encounter.id && !isVoid(one) && visitList(one.fields) === visit,
  );
}

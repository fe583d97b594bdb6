import { type ClaimPart, claimParts, type UsedVersion } from '../../../domain/events/readinessEvents.ts';
import { type RecordState, viewRecord, visitList } from '../../../domain/records/fold.ts';
import { encounter as entry } from '../../../domain/records/kinds/encounter.ts';
import { type Repair, repairedFields } from './repairs.ts';
import { type BilledRecord, type BillingFacts, distinct, isVoid, ranks, textOf } from './rule.ts';

/** By this a record is known among others. No kind has a hyphen. */
export function recordKey(kind: string, id: string): string {
  return `${kind}-${id}`;
}

/** A record in a version, as rules look at it: as a claim would carry it. Undefined where it was erased. */
export function billedRecord(state: RecordState, id: string): BilledRecord | undefined {
  if (state.erased) return undefined;
  return { kind: state.kind, id, version: state.version, ...repairedFields(state.kind, viewRecord(state)) };
}

/** A record that another one names, by its kind and id. */
export type Named = readonly [kind: string, id: string];

const fieldsThatName: Record<string, readonly (readonly [kind: string, field: string])[]> = {
  encounter: [
    ['patient', 'patient_id'],
    ['provider', 'provider_id'],
    ['provider', 'rendering_provider_id'],
    ['facility', 'facility_id'],
  ],
  patient: [...ranks.map((rank) => ['payer', `${rank}.payer_id`] as const), ['patient', 'merged_into']],
};

/** What a claim for an encounter rests on, as far as this record of it names it. */
export function namedBy(record: BilledRecord): Named[] {
  return (fieldsThatName[record.kind] ?? []).flatMap(([kind, field]) => {
    const id = textOf(record, field);
    return id === undefined ? [] : [[kind, id]];
  });
}

/** Returns what a claim for an encounter rests on, by `recordKey`, also where it is not among the records. */
export function reachedFrom(
  records: ReadonlyMap<string, BilledRecord | undefined>,
  encounterId: string,
): ReadonlySet<string> {
  const reached = new Set([recordKey('encounter', encounterId)]);
  // A set goes on to what is added while it is gone through.
  for (const key of reached) {
    const record = records.get(key);
    for (const named of record ? namedBy(record) : []) reached.add(recordKey(...named));
  }
  return reached;
}

/** The facts about an encounter among records by their `recordKey`; undefined where the encounter is not among them. */
export function factsOf(
  records: ReadonlyMap<string, BilledRecord | undefined>,
  encounterId: string,
): BillingFacts | undefined {
  const encounter = records.get(recordKey('encounter', encounterId));
  if (encounter === undefined) return undefined;
  const named = (kind: string, holder: BilledRecord | undefined, field: string) => {
    const id = textOf(holder, field);
    return id === undefined ? undefined : records.get(recordKey(kind, id));
  };
  const { patient, merged } = followMerges(records, named('patient', encounter, 'patient_id'));
  return {
    encounter,
    patient,
    merged,
    provider: named('provider', encounter, 'provider_id'),
    renderingProvider: named('provider', encounter, 'rendering_provider_id'),
    facility: named('facility', encounter, 'facility_id'),
    payer: named('payer', patient, 'primary_insurance.payer_id'),
    otherPayers: ranks.slice(1).map((rank) => named('payer', patient, `${rank}.payer_id`)),
  };
}

/**
 * The patient into whom one was merged, over all merges, and the others on the way. Where they lead in a circle nobody was merged, and
 * the others are those of the circle.
 */
function followMerges(
  records: ReadonlyMap<string, BilledRecord | undefined>,
  named: BilledRecord | undefined,
): { patient?: BilledRecord; merged: BilledRecord[] } {
  const way = new Set<BilledRecord>();
  for (let next = named; next !== undefined; ) {
    if (way.has(next)) {
      const [patient, ...merged] = way;
      return { ...(patient && { patient }), merged };
    }
    way.add(next);
    const into = textOf(next, 'merged_into');
    next = into === undefined ? undefined : records.get(recordKey('patient', into));
  }
  const merged = [...way];
  const patient = merged.pop();
  return { ...(patient && { patient }), merged };
}

/** The records of a claim by the parts that they have in it. */
export function partsOf(facts: BillingFacts): Record<ClaimPart, BilledRecord | undefined> {
  const { encounter, patient, payer, provider, renderingProvider: rendering_provider, facility } = facts;
  return { encounter, patient, payer, provider, rendering_provider, facility };
}

/** Returns what is repaired in the records of a claim, each with its record. */
export function repairsIn(facts: BillingFacts): (Repair & { record: BilledRecord })[] {
  return distinct(...Object.values(partsOf(facts)), ...(facts.otherPayers ?? [])).flatMap((record) =>
    (record.repairs ?? []).map((repair) => ({ record, ...repair })),
  );
}

/** The versions on which a claim rests. */
export function usedVersions(facts: BillingFacts): UsedVersion[] {
  const parts = partsOf(facts);
  return claimParts.flatMap((part) => {
    const record = parts[part];
    return record === undefined ? [] : [{ part, kind: record.kind, id: record.id, version: record.version }];
  });
}

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

import { type RecordState, viewRecord } from '../records/fold.ts';
import { textOf } from './faults.ts';
import type { BilledRecord, BillingFacts } from './rule.ts';

/** By this a record is known among others. No kind has a hyphen. */
export function recordKey(kind: string, id: string): string {
  return `${kind}-${id}`;
}

/** A record in a version, as rules look at it; undefined where it was erased. */
export function billedRecord(state: RecordState, id: string): BilledRecord | undefined {
  if (state.erased) return undefined;
  return { kind: state.kind, id, version: state.version, fields: viewRecord(state) };
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
  const patient = named('patient', encounter, 'patient_id');
  return {
    encounter,
    patient,
    provider: named('provider', encounter, 'provider_id'),
    renderingProvider: named('provider', encounter, 'rendering_provider_id'),
    facility: named('facility', encounter, 'facility_id'),
    payer: named('payer', patient, 'primary_insurance.payer_id'),
  };
}

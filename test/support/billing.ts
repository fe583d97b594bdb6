import type { BilledRecord, BillingFacts } from '../../src/modules/readiness/rules/rule.ts';

export type Fields = Record<string, unknown>;

const address = {
  address_line_1: '12 Elm Street',
  city: 'Omaha',
  state: 'NE',
  zip_code: '68102',
  country: 'US',
};

/** The fields of a claim in which no rule finds anything. */
export const billable = {
  encounter: {
    ...{ id: 'e', patient_id: 'p', provider_id: 'd', rendering_provider_id: 'd', facility_id: 'f' },
    ...{ date_of_service: '2026-03-14T09:30:00Z', is_completed: true },
  },
  patient: {
    ...{ id: 'p', date_of_birth: '1984-02-29', ...address },
    primary_insurance: {
      ...{ payer_id: 'y', policy_number: 'W123456789', subscriber_relationship: 'self' },
      ...{ effective_date: '2026-01-01', termination_date: '2026-12-31' },
    },
  },
  provider: {
    id: 'd',
    npi: '1234567893',
    taxonomy_code: '207Q00000X',
    role: 'attending_physician',
    ...address,
  },
  facility: { id: 'f', npi: '1093817462', facility_type: 'clinic', tax_id: '12-3456789', ...address },
  payer: { id: 'y', payer_code: '60054' },
} satisfies Record<string, Fields & { id: string }>;

export type Claim = Record<keyof typeof billable, Fields>;

/** The billable claim, changed: an undefined field is left out. */
export function claimWith(changes: Partial<Claim> = {}): Claim {
  const claim = structuredClone(billable) as Claim;
  for (const [part, fields] of Object.entries(changes)) Object.assign(claim[part as keyof Claim], fields);
  return claim;
}

/** Another encounter than that of the billable claim, and like it but for what is changed. */
export function otherEncounter(changes: Fields): Fields {
  return { ...billable.encounter, id: 'o', ...changes };
}

/** A record in its first version: an undefined field is left out. */
export function recordOf(kind: string, given: Fields): BilledRecord {
  const fields = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return { kind, id: String(fields.id), version: 1, fields: { ...fields, id: String(fields.id) } };
}

/** The facts of a claim with one provider. */
export function factsOf(claim: Claim): BillingFacts {
  const record = (kind: keyof Claim) => recordOf(kind, claim[kind]);
  const provider = record('provider');
  return {
    ...{ encounter: record('encounter'), patient: record('patient'), provider, renderingProvider: provider },
    ...{ facility: record('facility'), payer: record('payer') },
  };
}

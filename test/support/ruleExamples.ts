import type { RuleSettings } from '../../src/modules/readiness/rules/rule.ts';
import { billable, type Claim, type Fields } from './billing.ts';

/** The moment for which the examples are. */
export const NOW = Date.parse('2026-03-15T12:00:00Z');

/** How a claim differs from the billable one; `other`: how the encounter `o` does from its encounter, which is not there without. */
export type Changes = Partial<Claim> & { other?: Fields };
const { primary_insurance: primary } = billable.patient;

const insured = (changes: object) => ({ patient: { primary_insurance: { ...primary, ...changes } } });
export const without = (part: keyof Claim, ...fields: string[]) => ({
  [part]: Object.fromEntries(fields.map((field) => [field, undefined])),
});

const filingLimits = { default: 90, byPayer: new Map([['y', 30]]) };
export const servedOn = (day: string, payer = 'y') => ({
  encounter: { date_of_service: day },
  ...insured({ payer_id: payer }),
});

interface RuleExamples {
  /** Claims in which it finds these fields. */
  finds: [Changes, ...string[]][];
  /** Claims near to them in which it finds nothing. */
  passes: Changes[];
  /** What the workspace has set for both. */
  settings?: Partial<RuleSettings>;
  /** The billable claim was billed before. */
  isBilled?: true;
}

/** Of each rule, by its code. */
export const ruleExamples: Record<string, RuleExamples> = {
  service_date_missing: {
    finds: [[without('encounter', 'date_of_service'), 'encounter.date_of_service']],
    passes: [{ encounter: { date_of_service: '2026-03-14' } }],
  },
  service_date_in_future: {
    finds: [
      [{ encounter: { date_of_service: '2026-03-15T12:00:01Z' } }, 'encounter.date_of_service'],
      [{ encounter: { date_of_service: '2026-03-15T11:30:00-01:00' } }, 'encounter.date_of_service'],
    ],
    passes: [{ encounter: { date_of_service: '2026-03-15T12:00:00Z' } }],
  },
  service_before_birth: {
    finds: [[{ patient: { date_of_birth: '2026-03-15' } }, 'encounter.date_of_service']],
    passes: [{ patient: { date_of_birth: '2026-03-14' } }],
  },
  timely_filing: {
    settings: { filingLimits },
    finds: [
      [servedOn('2026-02-12'), 'encounter.date_of_service'],
      [servedOn('2025-12-14', 'other'), 'encounter.date_of_service'],
    ],
    passes: [
      servedOn('2026-02-13T23:30:00-05:00'),
      servedOn('2025-12-15', 'other'),
      without('encounter', 'date_of_service'),
      { ...servedOn('2020-01-01'), ...without('patient', 'primary_insurance') },
    ],
  },
  filing_limit_near: {
    settings: { filingLimits },
    finds: [
      [servedOn('2026-02-13'), 'encounter.date_of_service'],
      [servedOn('2026-02-26'), 'encounter.date_of_service'],
    ],
    passes: [servedOn('2026-02-12'), servedOn('2026-02-27'), servedOn('2026-02-13', 'other')],
  },
  provider_missing: {
    finds: [[without('encounter', 'provider_id'), 'encounter.provider_id']],
    passes: [without('encounter', 'rendering_provider_id')],
  },
  provider_npi: {
    finds: [
      [without('provider', 'npi'), 'provider.npi'],
      [{ provider: { npi: '0000000006' } }, 'provider.npi'],
      [{ provider: { npi: '1234567894' } }, 'provider.npi'],
    ],
    passes: [{ provider: { npi: '2000000002' } }],
  },
  taxonomy_code: {
    finds: [
      [{ provider: { taxonomy_code: '000000000X' } }, 'provider.taxonomy_code'],
      [{ provider: { taxonomy_code: '207Q00000' } }, 'provider.taxonomy_code'],
    ],
    passes: [{ provider: { taxonomy_code: '1041C0700X' } }, without('provider', 'taxonomy_code')],
  },
  taxonomy_code_missing: {
    finds: [[without('provider', 'taxonomy_code'), 'provider.taxonomy_code']],
    passes: [{ provider: { taxonomy_code: '000000000X' } }],
  },
  rendering_role: {
    finds: [[{ provider: { role: 'referring_provider' } }, 'provider.role']],
    passes: [{ provider: { role: 'rendering_provider' } }, without('provider', 'role')],
  },
  facility_missing: {
    finds: [[without('encounter', 'facility_id'), 'encounter.facility_id']],
    passes: [without('facility', 'name', 'npi', 'tax_id')],
  },
  facility_npi: {
    finds: [[{ facility: { npi: '1093817463' } }, 'facility.npi']],
    passes: [without('facility', 'npi')],
  },
  facility_tax_id: {
    finds: [
      [without('facility', 'tax_id'), 'facility.tax_id'],
      [{ facility: { tax_id: '12-345678' } }, 'facility.tax_id'],
    ],
    passes: [{ facility: { tax_id: '123456789' } }],
  },
  clia_number: {
    finds: [
      [{ facility: { facility_type: 'laboratory' } }, 'facility.clia_number'],
      [{ facility: { clia_number: '28E1234567' } }, 'facility.clia_number'],
    ],
    passes: [{ facility: { facility_type: 'laboratory', clia_number: '28D1234567' } }],
  },
  document_missing: {
    settings: { requiredDocuments: new Map([['inpatient', ['referral', 'discharge_summary']]]) },
    finds: [[{ encounter: { visit_type: 'inpatient' } }, 'encounter.visit_type']],
    passes: [{ encounter: { visit_type: 'telehealth' } }, without('encounter', 'visit_type')],
  },
  primary_insurance_missing: {
    finds: [[without('patient', 'primary_insurance'), 'patient.primary_insurance']],
    passes: [insured({ policy_number: undefined })],
  },
  insurance_rank_gap: {
    finds: [
      [{ patient: { tertiary_insurance: primary } }, 'patient.secondary_insurance'],
      [
        { patient: { primary_insurance: undefined, secondary_insurance: primary } },
        'patient.primary_insurance',
      ],
    ],
    passes: [
      { patient: { secondary_insurance: primary, tertiary_insurance: primary } },
      without('patient', 'primary_insurance'),
    ],
  },
  coverage_not_in_force: {
    finds: [
      [insured({ effective_date: '2026-03-15' }), 'patient.primary_insurance.effective_date'],
      [insured({ termination_date: '2021-12-31' }), 'patient.primary_insurance.termination_date'],
    ],
    passes: [
      insured({ effective_date: '2026-03-14', termination_date: '2026-03-14' }),
      insured({ effective_date: undefined, termination_date: undefined }),
    ],
  },
  policy_number_missing: {
    finds: [
      [insured({ policy_number: undefined }), 'patient.primary_insurance.policy_number'],
      [insured({ policy_number: ' ' }), 'patient.primary_insurance.policy_number'],
    ],
    passes: [without('patient', 'primary_insurance')],
  },
  subscriber_incomplete: {
    finds: [
      [
        insured({ subscriber_relationship: 'child', subscriber_last_name: 'Lopez' }),
        'patient.primary_insurance.subscriber_first_name',
        'patient.primary_insurance.subscriber_date_of_birth',
      ],
    ],
    passes: [
      insured({ subscriber_relationship: undefined }),
      insured({
        ...{ subscriber_relationship: 'spouse', subscriber_first_name: 'Ana' },
        ...{ subscriber_last_name: 'Lopez', subscriber_date_of_birth: '1980-01-02' },
      }),
    ],
  },
  payer_code_missing: {
    finds: [[without('payer', 'payer_code'), 'payer.payer_code']],
    passes: [{ payer: { payer_code: 'BCBS' } }],
  },
  address_incomplete: {
    finds: [
      [without('patient', 'address_line_1', 'zip_code'), 'patient.address_line_1', 'patient.zip_code'],
      [without('facility', 'city'), 'facility.city'],
      [{ provider: { state: 'XX' } }, 'provider.state'],
      [{ patient: { zip_code: '6810' } }, 'patient.zip_code'],
    ],
    passes: [{ patient: { country: 'CA', state: 'ON', zip_code: 'K1A 0B1' } }],
  },
  zip_of_other_state: {
    finds: [[{ patient: { zip_code: '10001' } }, 'patient.state']],
    passes: [
      { patient: { zip_code: '68102-1234' } },
      { patient: { zip_code: '00000' } },
      { patient: { state: 'AS', zip_code: '96799' } },
      { patient: { country: 'MX', zip_code: '10001' } },
    ],
  },
  suspected_duplicate: {
    finds: [
      [{ other: {} }, 'encounter.date_of_service'],
      [
        { other: { date_of_service: '2026-03-14', rendering_provider_id: 'd2', is_completed: false } },
        'encounter.date_of_service',
      ],
      [
        { encounter: { facility_id: undefined }, other: { facility_id: undefined } },
        'encounter.date_of_service',
      ],
    ],
    passes: [
      { other: { patient_id: 'q' } },
      { other: { provider_id: 'd2' } },
      { other: { date_of_service: '2026-03-15T00:30:00+01:00' } },
      { other: { facility_id: undefined } },
      { encounter: { facility_id: undefined }, other: {} },
      { other: { voided_at: '2026-03-15' } },
      { encounter: { voided_at: '2026-03-15' }, other: {} },
      ...(['provider_id', 'date_of_service'] as const).map((field) => ({
        encounter: { [field]: undefined },
        other: { [field]: undefined },
      })),
    ],
  },
  changed_after_billing: {
    isBilled: true,
    finds: [
      [{ encounter: { visit_type: 'telehealth' } }, 'encounter.visit_type'],
      [{ encounter: { voided_at: '2026-03-15' } }, 'encounter.voided_at'],
      [insured({ policy_number: 'W9' }), 'patient.primary_insurance.policy_number'],
      [without('facility', 'address_line_1', 'tax_id'), 'facility.tax_id', 'facility.address_line_1'],
      [{ provider: { npi: '2000000002' } }, 'provider.npi'],
      [{ payer: { payer_code: '60055' } }, 'payer.payer_code'],
      // Another record: only what names it has changed.
      [{ encounter: { facility_id: 'g' }, facility: { id: 'g', city: 'Lincoln' } }, 'encounter.facility_id'],
    ],
    passes: [
      {},
      { patient: { phone: '+1 402 555 0107' }, encounter: { status: 'billed', is_completed: false } },
      { encounter: { void_reason: 'Entered twice' } },
    ],
  },
};

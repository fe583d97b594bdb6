import { codeSetOf } from '../../src/modules/readiness/rules/codeSets.ts';
import type { PayerRule } from '../../src/modules/readiness/rules/payerRuleData.ts';
import type { RuleSettings } from '../../src/modules/readiness/rules/rule.ts';
import { billable, type Claim, type Fields } from './readiness.ts';

/** The moment for which the examples are. */
export const NOW = Date.parse('2026-03-15T12:00:00Z');

/**
 * How a claim differs from the billable one; `other`: how the encounter `o` does from its encounter, `payers`: the payers of other
 * insurances; neither is there without.
 */
export type Changes = Partial<Claim> & { other?: Fields; payers?: Fields[] };

export interface RuleExamples {
  /** Claims in which it finds these fields. */
  finds: [Changes, ...string[]][];
  /** Claims near to them in which it finds nothing. */
  passes: Changes[];
  /** What the workspace has set for both. */
  settings?: Partial<RuleSettings>;
  /** The billable claim was billed before. */
  isBilled?: true;
  /** The other encounter was billed before. */
  isOtherBilled?: true;
}

const { primary_insurance: primary } = billable.patient;

const encounter = (fields: Fields): Changes => ({ encounter: fields });
const patient = (fields: Fields): Changes => ({ patient: fields });
const provider = (fields: Fields): Changes => ({ provider: fields });
const facility = (fields: Fields): Changes => ({ facility: fields });
const payer = (fields: Fields): Changes => ({ payer: fields });
const of = (payer_type: string) => payer({ payer_type });
const all = (...changes: Changes[]): Changes => Object.assign({}, ...changes);

export const without = (part: keyof Claim, ...fields: string[]) => ({
  [part]: Object.fromEntries(fields.map((field) => [field, undefined])),
});

const insured = (changes: Fields) => patient({ primary_insurance: { ...primary, ...changes } });
/** The insured patient has another first name. */
const insuredAs = (first_name: string, changes: Fields) =>
  patient({ ...insured(changes).patient, first_name });

/** Each value in a field, and the field in which it is found. */
const each = (
  part: keyof Claim,
  field: string,
  values: readonly unknown[],
  at = `${part}.${field}`,
): [Changes, string][] => values.map((value) => [{ [part]: { [field]: value } }, at]);
const eachInsured = (field: string, values: readonly unknown[], changes: Changes = {}): [Changes, string][] =>
  values.map((value) => [all(insured({ [field]: value }), changes), `patient.primary_insurance.${field}`]);
const passing = (part: keyof Claim, field: string, values: readonly unknown[]): Changes[] =>
  values.map((value) => ({ [part]: { [field]: value } }));
const passingInsured = (field: string, values: readonly unknown[]): Changes[] =>
  values.map((value) => insured({ [field]: value }));

const spouse = {
  ...{ subscriber_relationship: 'spouse', subscriber_first_name: 'Ana' },
  ...{ subscriber_last_name: 'Lopez', subscriber_date_of_birth: '1980-01-02' },
};
const employer = { subscriber_relationship: 'other', subscriber_last_name: 'Elm Street Bakery' };
const second = { payer_id: 'z', policy_number: 'Z987654' };
const secondly = (changes: Fields, ...payers: Fields[]): Changes => ({
  ...patient({ secondary_insurance: { ...second, ...changes } }),
  payers: payers.length > 0 ? payers : [{ payer_code: '60055', payer_type: 'Private' }],
});
/** Insurances with payers of these types, from the first rank on. */
const ranked = (first: string, ...types: string[]): Changes => ({
  ...of(first),
  ...patient({
    secondary_insurance: second,
    ...(types.length > 1 && { tertiary_insurance: { payer_id: 'x', policy_number: 'X987654' } }),
  }),
  payers: types.map((payer_type, at) => ({ id: 'zx'[at], payer_code: '60055', payer_type })),
});

const filingLimits = { default: 'P90D', byPayer: new Map([['y', 'P30D']]), byType: new Map() };
/** A visit of a patient whose insurance has no dates. */
export const servedOn = (day: string, payerId = 'y'): Changes => ({
  ...encounter({ date_of_service: day }),
  ...insured({ payer_id: payerId, effective_date: undefined, termination_date: undefined }),
});
/** Another payer than that of the billable claim, of a type. */
const served = (day: string, payer_type: string) =>
  all(servedOn(day, 'other'), payer({ id: 'other', payer_type }));

/** NPPES, once it was loaded while records had these NPIs. */
const nppes = {
  codeSets: {
    nppes: codeSetOf({
      codes: ['1234567893', '1093817462', '1500000009', '1600000008', '1800000006'],
      ...{ organizations: ['1093817462', '1800000006'], ended: { '1600000008': '2026-03-01' } },
      unknown: ['1700000007'],
    }),
  },
};

const billedBy = (entity: 'facility' | 'provider') => ({
  billingEntities: { default: entity, byFacility: new Map() },
});

const insuranceIn = ({ patient }: Changes) => (patient as Fields).primary_insurance as Fields;

const DATE = 'encounter.date_of_service';
const FILING = 'encounter.filing';
const insurance = (field: string) => `patient.primary_insurance.${field}`;
const secondary = (field: string) => `patient.secondary_insurance.${field}`;
const long = (length: number) => 'L'.repeat(length);

interface PayerRuleExamples extends Pick<RuleExamples, 'finds' | 'passes'> {
  rule: PayerRule;
}

const ofPrivate = { payer: { code: '60054' }, severity: 'blocks' } as const;

/** Rules as payers state them, by their ids. */
export const payerRuleExamples: Record<string, PayerRuleExamples> = {
  letter_and_digits: {
    rule: {
      ...{ ...ofPrivate, field: insurance('policy_number'), must: { pattern: 'W\\d{9}|W\\d{11}' } },
      text: 'Member IDs have a W and 9 or 11 digits.',
    },
    finds: eachInsured('policy_number', [
      'W12345678',
      'W1234567890',
      'X123456789',
      '1234567890',
      'W12345678A',
    ]),
    passes: [
      ...passingInsured('policy_number', ['W123456789', 'W12345678901', ' W123456789', undefined]),
      all(insured({ policy_number: 'X1' }), payer({ payer_code: '60055' })),
    ],
  },
  three_letter_prefix: {
    rule: {
      ...{ ...ofPrivate, field: insurance('policy_number'), must: { pattern: '[A-Z]{3}[A-Z0-9]{3,14}' } },
      text: 'Member IDs begin with the three letters of the plan.',
    },
    finds: eachInsured('policy_number', ['123456789', 'AB1234567', 'ABC12', 'abc123456789']),
    passes: passingInsured('policy_number', ['ABC123', 'XYZH12345678', 'ABCDEF123', undefined]),
  },
  eleven_digits_of_tricare: {
    rule: {
      ...{ payer: { type: 'tricare' }, severity: 'blocks', field: insurance('policy_number') },
      ...{
        must: { pattern: '\\d{9}|\\d{11}' },
        text: 'The number of the sponsor or of the benefits has 9 or 11 digits.',
      },
    },
    finds: eachInsured('policy_number', ['W123456789', '1234567890'], of('Tricare')),
    passes: [
      all(insured({ policy_number: '12345678901' }), of('TRICARE')),
      all(insured({ policy_number: '123456789' }), of('Tricare')),
      all(insured({ policy_number: 'W123456789' }), of('Private')),
      of('Medicare'),
    ],
  },
  group_number: {
    rule: {
      ...{ ...ofPrivate, field: insurance('group_number'), must: { present: true } },
      text: 'Claims need the group number.',
    },
    finds: eachInsured('group_number', [undefined, '', ' ']),
    passes: [
      ...passingInsured('group_number', ['7', '0001']),
      payer({ payer_code: '60055' }),
      payer({ payer_code: undefined }),
    ],
  },
  visits_by_age: {
    rule: {
      ...{ ...ofPrivate, field: 'encounter.visit_type', must: { one_of: ['office_visit', 'inpatient'] } },
      when: [{ field: 'patient.date_of_birth', must: { before: '1990-01-01' } }],
      text: 'Telehealth is covered for those born since 1990.',
    },
    finds: each('encounter', 'visit_type', ['telehealth', 'outpatient', 'emergency']),
    passes: [
      ...passing('encounter', 'visit_type', ['office_visit', 'inpatient', undefined]),
      all(encounter({ visit_type: 'telehealth' }), patient({ date_of_birth: '1990-01-01' })),
      all(encounter({ visit_type: 'telehealth' }), patient({ date_of_birth: undefined })),
    ],
  },
  name_of_child: {
    rule: {
      ...{ ...ofPrivate, field: insurance('subscriber_last_name'), must: { same_as: 'patient.last_name' } },
      when: [{ field: insurance('subscriber_relationship'), must: { one_of: ['child'] } }],
      text: 'A child has the name of its subscriber.',
    },
    finds: eachInsured('subscriber_last_name', ['Elm', 'Lopez Elm']).map(([changes, at]) => [
      insured({ ...insuranceIn(changes), subscriber_relationship: 'child' }),
      at,
    ]),
    passes: [
      insured({ subscriber_relationship: 'child', subscriber_last_name: 'LOPEZ' }),
      insured({ subscriber_relationship: 'child' }),
      insured({ subscriber_relationship: 'spouse', subscriber_last_name: 'Elm' }),
    ],
  },
};

/** Of each rule, by its code. */
export const ruleExamples: Record<string, RuleExamples> = {
  service_date_missing: {
    finds: [
      [without('encounter', 'date_of_service'), DATE],
      [encounter({ date_of_service: '' }), DATE],
      [all(encounter({ date_of_service: undefined, visit_type: 'telehealth' })), DATE],
    ],
    passes: passing('encounter', 'date_of_service', [
      '2026-03-14',
      '2026-03-14T23:59:59-05:00',
      '2030-01-01',
    ]),
  },
  service_date_in_future: {
    finds: each('encounter', 'date_of_service', [
      '2026-03-15T12:00:01Z',
      '2026-03-15T11:30:00-01:00',
      '2026-03-16',
      '2099-01-01',
    ]),
    passes: passing('encounter', 'date_of_service', [
      '2026-03-15T12:00:00Z',
      '2026-03-15T13:00:00+01:00',
      '2026-03-15',
    ]),
  },
  service_before_birth: {
    finds: [
      ...['2026-03-15', '2026-03-15T08:00:00Z', '2027-01-01'].map((date_of_birth): [Changes, ...string[]] => [
        patient({ date_of_birth }),
        ...[DATE, 'patient.date_of_birth'],
      ]),
    ],
    passes: passing('patient', 'date_of_birth', ['2026-03-14', '2026-03-14T23:00:00Z', '1984-02-29']),
  },
  timely_filing: {
    settings: { filingLimits },
    finds: [
      [servedOn('2026-02-12'), FILING],
      [servedOn('2025-12-14', 'other'), FILING],
      [served('2025-03-13', 'Medicare'), FILING],
      [served('2025-03-14T23:30:00-05:00', 'tricare'), FILING],
      [served('2024-02-29', 'MEDICAID'), FILING],
    ],
    passes: [
      servedOn('2026-02-13T23:30:00-05:00'),
      servedOn('2025-12-15', 'other'),
      served('2025-03-15', 'Medicare'),
      served('2025-03-15T00:00:00Z', 'Medicaid'),
      served('2020-01-01', 'Self-Pay'),
      without('encounter', 'date_of_service'),
      { ...servedOn('2020-01-01'), ...without('patient', 'primary_insurance') },
    ],
  },
  filing_limit_near: {
    settings: { filingLimits },
    finds: [
      [servedOn('2026-02-13'), FILING],
      [servedOn('2026-02-26'), FILING],
      [served('2025-03-15', 'Medicare'), FILING],
      [served('2025-03-28', 'Tricare'), FILING],
    ],
    passes: [
      servedOn('2026-02-12'),
      servedOn('2026-02-27'),
      servedOn('2026-02-13', 'other'),
      served('2025-03-29', 'Medicare'),
    ],
  },
  filing_limit_unknown: {
    finds: [
      [servedOn('2025-03-14'), DATE],
      [servedOn('2001-01-01'), DATE],
      [served('2024-02-29', 'Workers Compensation'), DATE],
    ],
    passes: [
      servedOn('2025-03-15'),
      served('2024-02-29', 'Medicare'),
      served('2001-01-01', 'Self-Pay'),
      { ...servedOn('2001-01-01'), ...without('patient', 'primary_insurance') },
    ],
  },
  provider_missing: {
    finds: [
      [without('encounter', 'provider_id'), 'encounter.provider_id'],
      [without('encounter', 'provider_id', 'rendering_provider_id'), 'encounter.provider_id'],
      [encounter({ provider_id: '' }), 'encounter.provider_id'],
    ],
    passes: [without('encounter', 'rendering_provider_id'), encounter({ provider_id: 'd2' }), {}],
  },
  provider_npi: {
    finds: [
      [without('provider', 'npi'), 'provider.npi'],
      ...each('provider', 'npi', ['0000000006', '1234567894', '3234567891']),
    ],
    passes: passing('provider', 'npi', ['2000000002', '1093817462', '1234567893']),
  },
  taxonomy_code: {
    finds: each('provider', 'taxonomy_code', ['000000000X', '207Q00000', '207Q000000', '57Q000000X']),
    passes: [
      ...passing('provider', 'taxonomy_code', ['1041C0700X', '207q00000x', ' 207Q00000X ']),
      without('provider', 'taxonomy_code'),
    ],
  },
  taxonomy_code_missing: {
    finds: each('provider', 'taxonomy_code', [undefined, '', ' ']),
    passes: passing('provider', 'taxonomy_code', ['000000000X', '207Q00000X', '363L00000X']),
  },
  taxonomy_of_organization: {
    finds: each('provider', 'taxonomy_code', [
      '261QP2300X',
      '193200000X',
      '282N00000X',
      '333600000X',
      '341600000X',
    ]),
    passes: passing('provider', 'taxonomy_code', [
      '207Q00000X',
      '363A00000X',
      '374U00000X',
      '183500000X',
      '235Z00000X',
      '390200000X',
    ]),
  },
  rendering_role: {
    finds: each(
      'provider',
      'role',
      ['referring_provider', 'billing_provider'],
      'encounter.rendering_provider_id',
    ),
    passes: [
      ...passing('provider', 'role', ['rendering_provider', 'attending_physician', 'operating_physician']),
      without('provider', 'role'),
    ],
  },
  facility_missing: {
    finds: [
      [without('encounter', 'facility_id'), 'encounter.facility_id'],
      [encounter({ facility_id: undefined, visit_type: 'inpatient' }), 'encounter.facility_id'],
      [encounter({ facility_id: undefined, visit_type: undefined }), 'encounter.facility_id'],
    ],
    passes: [
      without('facility', 'name', 'npi', 'tax_id'),
      encounter({ facility_id: undefined, visit_type: 'telehealth' }),
      encounter({ visit_type: 'telehealth' }),
    ],
  },
  facility_npi: {
    finds: each('facility', 'npi', ['1093817463', '9093817462', '1000000000']),
    passes: [without('facility', 'npi'), ...passing('facility', 'npi', ['1093817462', '2000000002'])],
  },
  clia_number: {
    finds: [undefined, '28E1234567', '28D123456', 'pending'].map((clia_number) => [
      facility({ facility_type: 'laboratory', clia_number }),
      'facility.clia_number',
    ]),
    passes: [
      facility({ facility_type: 'laboratory', clia_number: '28D1234567' }),
      facility({ facility_type: 'laboratory', clia_number: ' 28d1234567' }),
      facility({ clia_number: '28E1234567' }),
    ],
  },
  clia_number_form: {
    finds: each('facility', 'clia_number', ['28E1234567', '28D123456', 'none']),
    passes: [
      ...passing('facility', 'clia_number', ['28D1234567', '28d1234567', undefined]),
      facility({ facility_type: 'laboratory', clia_number: '28E1234567' }),
    ],
  },
  visit_type_missing: {
    finds: each('encounter', 'visit_type', [undefined, '', ' ']),
    passes: passing('encounter', 'visit_type', ['outpatient', 'telehealth', 'office_visit']),
  },
  facility_type_missing: {
    finds: each('facility', 'facility_type', [undefined, '', ' ']),
    passes: passing('facility', 'facility_type', ['other', 'hospital', 'clinic']),
  },
  visit_at_facility: {
    finds: (
      [
        ['inpatient', 'telehealth'],
        ['office_visit', 'telehealth'],
        ['emergency', 'pharmacy'],
        ['surgical', 'laboratory'],
        ['inpatient', 'clinic'],
        ['inpatient', 'ambulatory_surgery_center'],
        ['observation', 'home_health'],
        ['emergency', 'skilled_nursing_facility'],
      ] as const
    ).map(([visit_type, facility_type]) => [
      { encounter: { visit_type }, facility: { facility_type } },
      'encounter.visit_type',
    ]),
    passes: (
      [
        ['inpatient', 'hospital'],
        ['emergency', 'hospital'],
        ['emergency', 'clinic'],
        ['inpatient', 'skilled_nursing_facility'],
        ['surgical', 'ambulatory_surgery_center'],
        ['outpatient', 'laboratory'],
        ['office_visit', 'home_health'],
        ['telehealth', 'telehealth'],
        ['emergency', 'other'],
        ['emergency', undefined],
        [undefined, 'pharmacy'],
      ] as const
    ).map(([visit_type, facility_type]) => ({ encounter: { visit_type }, facility: { facility_type } })),
  },
  billing_npi: {
    settings: billedBy('facility'),
    finds: each('facility', 'npi', [undefined, '', ' ']),
    passes: [
      facility({ npi: '2000000002' }),
      facility({ npi: '1093817463' }),
      encounter({ facility_id: undefined, visit_type: 'telehealth' }),
    ],
  },
  facility_npi_missing: {
    settings: billedBy('provider'),
    finds: each('facility', 'npi', [undefined, '', ' ']),
    passes: [facility({ npi: '2000000002' }), provider({ npi: undefined }), encounter({ facility_id: 'g' })],
  },
  facility_tax_id: {
    finds: each('facility', 'tax_id', [
      ...[undefined, '', '12-345678', '00-1234567', '07-1234567', '890000001', '12-0000000', '112222222'],
      ...['123-45-6789', 'pending'],
    ]),
    passes: [
      ...passing('facility', 'tax_id', ['123456789', '12 3456789', ' 12-3456789']),
      provider({ tax_id: '00-0000000' }),
    ],
  },
  provider_tax_id: {
    settings: billedBy('provider'),
    finds: each('provider', 'tax_id', [undefined, '12-345678', '00-1234567', '12-0000000', '123-45-6789']),
    passes: [
      ...passing('provider', 'tax_id', ['12-3456789', '123456789']),
      { provider: { tax_id: '12-3456789' }, facility: { tax_id: undefined } },
    ],
  },
  npi_shared: {
    finds: [
      [facility({ npi: '1234567893' }), 'facility.npi'],
      [provider({ npi: '1093817462' }), 'facility.npi'],
      [{ provider: { npi: '2000000002' }, facility: { npi: '2000000002' } }, 'facility.npi'],
    ],
    passes: [
      {},
      { provider: { npi: undefined }, facility: { npi: undefined } },
      facility({ npi: '2000000002' }),
    ],
  },
  document_missing: {
    settings: { requiredDocuments: new Map([['inpatient', ['referral', 'discharge_summary']]]) },
    finds: [
      [encounter({ visit_type: 'inpatient' }), 'encounter.documents'],
      [
        { encounter: { visit_type: 'inpatient' }, facility: { facility_type: 'hospital' } },
        'encounter.documents',
      ],
      [encounter({ visit_type: 'inpatient', status: 'finished' }), 'encounter.documents'],
    ],
    passes: [
      encounter({ visit_type: 'telehealth' }),
      encounter({ visit_type: 'outpatient' }),
      without('encounter', 'visit_type'),
    ],
  },
  primary_insurance_missing: {
    finds: [
      [without('patient', 'primary_insurance'), 'patient.primary_insurance'],
      [patient({ primary_insurance: undefined, secondary_insurance: second }), 'patient.primary_insurance'],
      [{ ...without('patient', 'primary_insurance'), ...of('Medicare') }, 'patient.primary_insurance'],
    ],
    passes: [insured({ policy_number: undefined }), of('Self-Pay'), {}],
  },
  insurance_rank_gap: {
    finds: [
      [patient({ tertiary_insurance: primary }), 'patient.secondary_insurance'],
      [patient({ primary_insurance: undefined, secondary_insurance: primary }), 'patient.primary_insurance'],
      [
        patient({ primary_insurance: undefined, tertiary_insurance: second }),
        ...['patient.primary_insurance', 'patient.secondary_insurance'],
      ],
    ],
    passes: [
      patient({ secondary_insurance: primary, tertiary_insurance: primary }),
      patient({ secondary_insurance: second }),
      without('patient', 'primary_insurance'),
    ],
  },
  insurance_order: {
    finds: [
      [ranked('Medicaid', 'Private'), 'patient.primary_insurance'],
      [ranked('Medicaid', 'Medicare'), 'patient.primary_insurance', secondary('msp_type')],
      [ranked('TRICARE', 'private'), 'patient.primary_insurance'],
      [ranked('Self-Pay', 'Private'), 'patient.primary_insurance'],
      [ranked('Self-Pay', 'Medicaid'), 'patient.primary_insurance'],
      [ranked('Medicare', 'Medicare'), 'patient.secondary_insurance'],
      [ranked('Private', 'Medicare'), secondary('msp_type')],
      [ranked('Private', 'Medicaid', 'Tricare'), 'patient.secondary_insurance'],
      [
        ranked('Private', 'Tricare', 'Medicare'),
        'patient.secondary_insurance',
        'patient.tertiary_insurance.msp_type',
      ],
    ],
    passes: [
      ranked('Private', 'Medicaid'),
      ranked('Private', 'Tricare', 'Medicaid'),
      ranked('Medicare', 'Private', 'Medicaid'),
      ranked('Medicaid', 'Self-Pay'),
      ranked('Private', 'Private'),
      ranked('Medicaid', ''),
      {
        ...ranked('Private', 'Medicare'),
        ...patient({ secondary_insurance: { ...second, msp_type: '12' } }),
      },
    ],
  },
  coverage_not_in_force: {
    finds: [
      [insured({ effective_date: '2026-03-15' }), insurance('effective_date')],
      [insured({ termination_date: '2021-12-31' }), insurance('termination_date')],
      [insured({ termination_date: '2026-03-13T23:59:59Z' }), insurance('termination_date')],
      [
        insured({ effective_date: '2026-04-01', termination_date: '2026-02-01' }),
        ...[insurance('effective_date'), insurance('termination_date')],
      ],
    ],
    passes: [
      insured({ effective_date: '2026-03-14', termination_date: '2026-03-14' }),
      insured({ effective_date: undefined, termination_date: undefined }),
      insured({ effective_date: '2026-03-14T23:00:00Z' }),
    ],
  },
  policy_number_missing: {
    finds: [
      ...eachInsured('policy_number', [undefined, '', ' ']),
      ...eachInsured('policy_number', [undefined], of('Private')),
    ],
    passes: [
      without('patient', 'primary_insurance'),
      all(insured({ policy_number: undefined }), of('Self-Pay')),
      all(insured({ policy_number: undefined }), of('self pay')),
    ],
  },
  medicare_member_id: {
    finds: eachInsured(
      'policy_number',
      ['123456789A', '1EG4TE5MK7', '1SG4TE5MK73', '0EG4TE5MK73', 'W123456789', '1EG4TE5MK731', 'UNKNOWN'],
      of('Medicare'),
    ),
    passes: [
      ...['1EG4TE5MK73', '1eg4-te5-mk73', '1EG4 TE5 MK73'].map((policy_number) =>
        all(insured({ policy_number }), of('Medicare')),
      ),
      of('Medicaid'),
      of('Medicare Advantage'),
      all(insured({ policy_number: undefined }), of('Medicare')),
    ],
  },
  medicare_subscriber: {
    finds: eachInsured('subscriber_relationship', ['spouse', 'child', 'other'], of('MEDICARE')),
    passes: [
      of('Medicare'),
      all(insured({ subscriber_relationship: undefined }), of('Medicare')),
      insured({ subscriber_relationship: 'spouse' }),
    ],
  },
  medicaid_subscriber: {
    finds: eachInsured('subscriber_relationship', ['spouse', 'child', 'other'], of('Medicaid')),
    passes: [
      of('Medicaid'),
      all(insured({ subscriber_relationship: undefined }), of('Medicaid')),
      all(insured({ subscriber_relationship: 'child' }), of('Tricare')),
    ],
  },
  subscriber_incomplete: {
    finds: [
      [
        insured({ subscriber_relationship: 'child', subscriber_last_name: 'Lopez' }),
        insurance('subscriber_first_name'),
      ],
      [
        insured({ subscriber_relationship: 'spouse' }),
        ...[insurance('subscriber_first_name'), insurance('subscriber_last_name')],
      ],
      [
        all(insured({ subscriber_relationship: 'other' }), of('Workers Compensation')),
        insurance('subscriber_last_name'),
      ],
      [insured({ ...spouse, subscriber_first_name: ' ' }), insurance('subscriber_first_name')],
      [insured(employer), insurance('subscriber_first_name')],
    ],
    passes: [
      insured({ subscriber_relationship: undefined }),
      insured({ subscriber_relationship: 'self' }),
      insured(spouse),
      ...['Workers Compensation', "workers' comp", 'Worker’s Compensation'].map((type) =>
        all(insured(employer), of(type)),
      ),
    ],
  },
  subscriber_birth_date_missing: {
    finds: (['spouse', 'child', 'other'] as const).map((subscriber_relationship) => [
      insured({ ...spouse, subscriber_relationship, subscriber_date_of_birth: undefined }),
      insurance('subscriber_date_of_birth'),
    ]),
    passes: [
      insured(spouse),
      insured({ subscriber_relationship: 'self' }),
      insured({ subscriber_relationship: undefined }),
      all(insured(employer), of('Workers Compensation')),
    ],
  },
  subscriber_mismatch: {
    finds: [
      [
        insuredAs('Eva', { ...spouse, subscriber_relationship: 'self' }),
        ...[insurance('subscriber_first_name'), insurance('subscriber_date_of_birth')],
      ],
      [
        insured({ subscriber_relationship: 'self', subscriber_date_of_birth: '1984-02-28' }),
        insurance('subscriber_date_of_birth'),
      ],
      [
        insured({ subscriber_relationship: 'self', subscriber_last_name: 'Nguyen' }),
        insurance('subscriber_last_name'),
      ],
      [
        insuredAs('Eva', { ...spouse, subscriber_relationship: undefined }),
        insurance('subscriber_relationship'),
      ],
    ],
    passes: [
      insuredAs('Eva', spouse),
      insuredAs('Ana', {
        ...{ ...spouse, subscriber_relationship: 'self' },
        subscriber_date_of_birth: '1984-02-29T00:00:00Z',
      }),
      insuredAs('ANA ', { ...spouse, subscriber_relationship: undefined }),
      insured({ subscriber_relationship: 'self' }),
    ],
  },
  subscriber_implausible: {
    finds: [
      [
        insuredAs('Ana', { ...spouse, subscriber_date_of_birth: '1984-02-29' }),
        insurance('subscriber_relationship'),
      ],
      [
        insured({ ...spouse, subscriber_relationship: 'child', subscriber_date_of_birth: '1990-01-02' }),
        insurance('subscriber_date_of_birth'),
      ],
      [
        insured({ ...spouse, subscriber_relationship: 'child', subscriber_date_of_birth: '1984-02-29' }),
        insurance('subscriber_date_of_birth'),
      ],
      [insured({ ...spouse, subscriber_date_of_birth: '2026-03-16' }), insurance('subscriber_date_of_birth')],
      [insured({ ...spouse, subscriber_date_of_birth: '1899-12-31' }), insurance('subscriber_date_of_birth')],
      [
        insured({ subscriber_relationship: undefined, subscriber_date_of_birth: '2030-01-01' }),
        insurance('subscriber_date_of_birth'),
      ],
    ],
    passes: [
      insuredAs('Eva', { ...spouse, subscriber_date_of_birth: '1984-02-29' }),
      insured({ ...spouse, subscriber_relationship: 'child' }),
      insured({ ...spouse, subscriber_date_of_birth: '2026-03-15' }),
      insured({ ...spouse, subscriber_date_of_birth: '1900-01-01' }),
      insuredAs('Ana', {
        ...{ ...spouse, subscriber_relationship: 'self' },
        subscriber_date_of_birth: '2030-01-01',
      }),
    ],
  },
  subscriber_address: {
    finds: [
      ...eachInsured('subscriber_state', ['XX', 'N']),
      ...eachInsured('subscriber_zip_code', ['6810', '68102-12', 'K1A 0B1']),
    ],
    passes: [
      ...passingInsured('subscriber_state', ['NE', 'ne', 'Nebraska', undefined]),
      ...passingInsured('subscriber_zip_code', ['68102', '681021234', ' 68102 ']),
      insured({ subscriber_country: 'CA', subscriber_state: 'ON', subscriber_zip_code: 'K1A 0B1' }),
      insured({ subscriber_country: 'Mexico', subscriber_state: 'NLE', subscriber_zip_code: '64000' }),
    ],
  },
  payer_code_missing: {
    finds: each('payer', 'payer_code', [undefined, '', ' ']),
    passes: [
      payer({ payer_code: 'BCBS' }),
      payer({ payer_code: undefined, payer_type: 'Self-Pay' }),
      payer({ payer_code: undefined, payer_type: 'SELF PAY' }),
    ],
  },
  payer_code_unlisted: {
    settings: { codeSets: { payers: codeSetOf({ codes: ['60054', 'SX109'] }) } },
    finds: each('payer', 'payer_code', ['60055', 'SX1O9', 'ELM']),
    passes: [
      without('payer', 'payer_code'),
      ...passing('payer', 'payer_code', ['60054', 'sx109', ' SX109 ']),
      payer({ payer_code: 'NONE', payer_type: 'Self-Pay' }),
      secondly({}, { payer_code: 'ELM', payer_type: 'Private' }),
    ],
  },
  payer_type_missing: {
    finds: each('payer', 'payer_type', [undefined, '', ' ']),
    passes: passing('payer', 'payer_type', ['Private', 'HMO', 'Self-Pay']),
  },
  other_insurance: {
    finds: [
      [secondly({ policy_number: undefined }), secondary('policy_number')],
      [patient({ secondary_insurance: primary }), 'patient.secondary_insurance'],
      [secondly({ termination_date: '2026-03-13' }), secondary('termination_date')],
      [
        patient({
          secondary_insurance: second,
          tertiary_insurance: { ...second, effective_date: '2026-03-15' },
        }),
        ...['patient.tertiary_insurance.effective_date', 'patient.tertiary_insurance'],
      ],
      [secondly({ policy_number: 'UNKNOWN' }), secondary('policy_number')],
      [secondly({ policy_number: '123-45-6789' }), secondary('policy_number')],
      [secondly({ subscriber_id: '000000000' }), secondary('subscriber_id')],
      [secondly({}, { payer_type: 'Private' }), 'payer.payer_code'],
      [secondly({}, { payer_code: '60055' }), 'payer.payer_type'],
      [secondly({}, { payer_code: 'TBD', payer_type: 'Private' }), 'payer.payer_code'],
      [secondly({}, { payer_code: '60055', payer_type: 'Medicare' }), secondary('policy_number')],
      [
        secondly(
          { policy_number: '1EG4TE5MK73', ...spouse },
          { payer_code: '60055', payer_type: 'Medicare' },
        ),
        secondary('subscriber_relationship'),
      ],
      [
        secondly(
          { ...spouse, subscriber_relationship: 'child' },
          { payer_code: '60055', payer_type: 'Medicaid' },
        ),
        secondary('subscriber_relationship'),
      ],
      [
        secondly({ subscriber_relationship: 'spouse', subscriber_first_name: 'Ana' }),
        ...[secondary('subscriber_last_name'), secondary('subscriber_date_of_birth')],
      ],
      [
        secondly({ ...spouse, subscriber_relationship: 'self' }),
        ...[secondary('subscriber_first_name'), secondary('subscriber_date_of_birth')],
      ],
      [
        secondly({ ...spouse, subscriber_date_of_birth: '2030-01-01' }),
        secondary('subscriber_date_of_birth'),
      ],
      [secondly({ subscriber_state: 'XX' }), secondary('subscriber_state')],
    ],
    passes: [
      secondly({}),
      secondly(spouse),
      secondly({ payer_id: 'y', termination_date: '2026-03-14' }),
      secondly({ policy_number: undefined }, { payer_type: 'Self-Pay' }),
      secondly({ policy_number: '1eg4-te5-mk73' }, { payer_code: '60055', payer_type: 'Medicare' }),
      secondly(employer, { payer_code: '60055', payer_type: "Workers' Comp" }),
      patient({ secondary_insurance: second, tertiary_insurance: { ...second, policy_number: 'Z12' } }),
      // Of the primary insurance, other rules tell.
      insured({ policy_number: 'UNKNOWN' }),
    ],
  },
  birth_date: {
    finds: each('patient', 'date_of_birth', [
      '1899-12-31',
      '1000-01-01',
      '2026-03-16',
      '2026-03-15T12:00:01Z',
    ]),
    passes: passing('patient', 'date_of_birth', ['1900-01-01', '2026-03-15', '2026-03-15T12:00:00Z']),
  },
  gender_missing: {
    finds: each('patient', 'gender', [undefined, '', ' ']),
    passes: passing('patient', 'gender', ['other', 'male', 'female']),
  },
  address_incomplete: {
    finds: [
      [without('patient', 'address_line_1', 'zip_code'), 'patient.address_line_1', 'patient.zip_code'],
      [without('facility', 'city'), 'facility.city'],
      [patient({ address_line_1: ' ' }), 'patient.address_line_1'],
      ...each('patient', 'zip_code', ['6810', '00000', '00000-1234', '99999', '68102-0000', '681020000']),
      ...each('patient', 'state', ['XX', 'N', undefined]),
      ...['us', 'USA', 'U.S.A.', ' United States '].map((country): [Changes, string] => [
        patient({ country, zip_code: undefined }),
        'patient.zip_code',
      ]),
      [patient({ country: 'CA', state: 'NE', zip_code: '68102' }), 'patient.state', 'patient.zip_code'],
      [
        patient({ country: 'can', state: undefined, zip_code: undefined }),
        ...['patient.state', 'patient.zip_code'],
      ],
      [patient({ country: 'MX', address_line_1: undefined, zip_code: undefined }), 'patient.address_line_1'],
      [patient({ country: 'Narnia', city: undefined }), 'patient.city'],
    ],
    passes: [
      ...passing('patient', 'state', ['ne', ' NE', 'Nebraska']),
      ...passing('patient', 'zip_code', ['681021234', '68102 1234', ' 68102']),
      patient({ country: 'USA' }),
      patient({ country: 'CA', state: 'ON', zip_code: 'K1A 0B1' }),
      patient({ country: 'Canada', state: 'on', zip_code: 'k1a0b1' }),
      patient({ country: 'HK', state: undefined, zip_code: undefined }),
      // No claim carries it unless the provider bills.
      without('provider', 'address_line_1', 'city', 'state', 'zip_code'),
    ],
  },
  zip_of_other_state: {
    finds: [
      [patient({ zip_code: '10001' }), 'patient.state'],
      [facility({ state: 'CA' }), 'facility.state'],
      [patient({ state: 'Iowa' }), 'patient.state'],
    ],
    passes: [
      patient({ zip_code: '68102-1234' }),
      patient({ zip_code: '00000' }),
      patient({ state: 'AS', zip_code: '96799' }),
      patient({ country: 'MX', zip_code: '10001' }),
      patient({ state: 'ne' }),
    ],
  },
  country_code: {
    finds: [...each('patient', 'country', ['Narnia', '840', 'MEX']), ...each('facility', 'country', ['DEU'])],
    passes: [
      ...passing('patient', 'country', ['US', 'usa', 'U.S.', 'Canada', 'CAN', 'mx']),
      provider({ country: 'Narnia' }),
    ],
  },
  payer_address: {
    finds: [
      ...each('payer', 'state', ['XX', 'N']),
      ...each('payer', 'zip_code', ['6810', '00000', '68102-12']),
      ...each('payer', 'country', ['Narnia']),
    ],
    passes: [
      {},
      ...passing('payer', 'state', ['ct', 'Connecticut']),
      ...passing('payer', 'zip_code', ['06156', '061560001']),
      payer({ country: 'GB', state: 'Kent', zip_code: 'CT1 1AA' }),
    ],
  },
  po_box: {
    finds: [
      ...each('facility', 'address_line_1', [
        ...['PO Box 12', 'P.O. Box 7', 'p o box 3', 'POST OFFICE BOX 9', 'Lockbox 512', '12 Elm St PMB 4'],
      ]),
      ...each('facility', 'address_line_2', ['P.O. BOX 12']),
    ],
    passes: [
      ...passing('patient', 'address_line_1', ['PO Box 12', 'PMB 7']),
      ...passing('facility', 'address_line_1', ['12 Poboxer Road', '1 Boxwood Lane', '7 Post Office Square']),
      provider({ address_line_1: 'PO Box 12' }),
    ],
  },
  zip_plus_four: {
    finds: [
      ...each('facility', 'zip_code', ['68102', ' 68102']),
      [facility({ zip_code: '68102', country: 'USA' }), 'facility.zip_code'],
    ],
    passes: [
      patient({ zip_code: '68102' }),
      provider({ zip_code: '68102' }),
      facility({ zip_code: '681021234' }),
      facility({ country: 'MX', zip_code: '68102' }),
    ],
  },
  billing_zip: {
    settings: billedBy('facility'),
    finds: [
      ...each('facility', 'zip_code', ['68102', ' 68102']),
      [facility({ zip_code: '68102', country: 'USA' }), 'facility.zip_code'],
    ],
    passes: [
      provider({ zip_code: '68102' }),
      facility({ zip_code: '681021234' }),
      facility({ country: 'MX', zip_code: '68102' }),
    ],
  },
  placeholder: {
    finds: [
      ...eachInsured('policy_number', [
        ...['UNKNOWN', 'n/a', 'None', 'TBD', 'self', '000000000', 'XXXXX', '123456789', '1234567890', '7'],
        ...['W'.padEnd(81, '12'), 'W12*345', 'W12~345'],
      ]),
      ...eachInsured('subscriber_id', ['UNKNOWN', '111111111', 'NA']),
      ...each('payer', 'payer_code', ['99999', 'TBD', '0']),
      [patient({ first_name: '.', last_name: 'Unknown' }), 'patient.first_name', 'patient.last_name'],
      [patient({ first_name: 'Test', last_name: 'TEST' }), 'patient.first_name', 'patient.last_name'],
      ...each('patient', 'last_name', [' ', '-', 'N/A']),
      ...each('patient', 'address_line_1', ['N/A', 'UNKNOWN', '.']),
      ...each('provider', 'first_name', ['  ', 'UNK', '?']),
      [facility({ name: '-', city: 'unknown' }), 'facility.name', 'facility.city'],
      [insured({ ...spouse, subscriber_first_name: 'XX' }), insurance('subscriber_first_name')],
      ...each('payer', 'name', ['TBA', ' ', 'none']),
    ],
    passes: [
      ...passingInsured('policy_number', ['60054', 'W123456789', '12', '1EG4TE5MK73', 'YZX-0000-1']),
      ...passingInsured('subscriber_id', ['W123456789', undefined]),
      patient({ first_name: 'Test', last_name: 'Lopez' }),
      patient({ first_name: 'Na', last_name: 'Null' }),
      patient({ first_name: 'J.', last_name: "O'Neil-Self" }),
      patient({ last_name: '李' }),
      patient({ address_line_1: '1 None Such Road' }),
      provider({ address_line_1: 'UNKNOWN' }),
    ],
  },
  member_id_ssn: {
    finds: [
      ...eachInsured('policy_number', ['123-45-6789', '123 45 6789', ' 555-12-3456']),
      ...eachInsured('subscriber_id', ['123-45-6789']),
    ],
    passes: passingInsured('policy_number', ['123456780', '000-12-3456', 'W123-45-6789', '123-456789']),
  },
  member_id_like_ssn: {
    finds: [
      ...eachInsured('policy_number', ['123456780', '555123456']),
      ...eachInsured('subscriber_id', ['123456780']),
    ],
    passes: passingInsured('policy_number', ['000123456', '1234567801', '123-45-6780', 'W23456780']),
  },
  name_form: {
    finds: [
      ...each('patient', 'last_name', [long(61), '李', 'Петрова']),
      ...each('patient', 'first_name', [long(36), 'Ada2', 'Αδα']),
      ...each('provider', 'first_name', ['Ada2', long(36)]),
      ...each('facility', 'name', [`F${long(60)}`, '診療所']),
      ...each('payer', 'name', [long(61)]),
      [insured({ ...spouse, subscriber_last_name: 'L0pez' }), insurance('subscriber_last_name')],
    ],
    passes: [
      patient({ first_name: long(35), last_name: long(60) }),
      patient({ first_name: 'Zoë', last_name: 'Łukasz-Ødegård' }),
      patient({ last_name: 'O’Neil' }),
      facility({ name: '7 Hills Clinic' }),
      payer({ name: 'Plan 65' }),
    ],
  },
  npi_unknown: {
    settings: nppes,
    finds: [
      ...each('provider', 'npi', ['1700000007']),
      ...each('facility', 'npi', ['1700000007']),
      [all(provider({ npi: '1700000007' }), facility({ npi: '1700000007' })), 'provider.npi', 'facility.npi'],
    ],
    passes: [
      ...passing('provider', 'npi', ['1500000009', '1234567890', '1600000008']),
      // Its record came after the file was loaded.
      provider({ npi: '1900000005' }),
      without('provider', 'npi'),
    ],
  },
  npi_deactivated: {
    settings: nppes,
    finds: [
      ...each('provider', 'npi', ['1600000008']),
      ...each('facility', 'npi', ['1600000008']),
      [all(provider({ npi: '1600000008' }), encounter({ date_of_service: '2026-03-01' })), 'provider.npi'],
    ],
    passes: [
      all(provider({ npi: '1600000008' }), encounter({ date_of_service: '2026-02-28' })),
      all(provider({ npi: '1600000008' }), encounter({ date_of_service: undefined })),
      ...passing('provider', 'npi', ['1500000009', '1700000007', '1900000005']),
    ],
  },
  npi_entity_type: {
    settings: nppes,
    finds: [
      ...each('provider', 'npi', ['1093817462', '1800000006']),
      ...each('facility', 'npi', ['1500000009']),
      [all(provider({ npi: '1800000006' }), facility({ npi: '1500000009' })), 'provider.npi', 'facility.npi'],
    ],
    passes: [
      ...passing('provider', 'npi', ['1500000009', '1600000008', '1700000007', '1900000005']),
      // NPPES does not say of whom a deactivated NPI was.
      ...passing('facility', 'npi', ['1800000006', '1600000008', '1700000007', '1900000005']),
      without('facility', 'npi'),
    ],
  },
  clia_unlisted: {
    settings: {
      codeSets: {
        clia: codeSetOf({
          codes: ['28D1234567', '28D7654321'],
          ...{ ended: { '28D7654321': '2026-03-01' }, unknown: ['28D0000001'] },
        }),
      },
    },
    finds: [
      ...each('facility', 'clia_number', ['28D0000001', '28D7654321', '28d7654321']),
      [facility({ clia_number: '28D0000001', facility_type: 'laboratory' }), 'facility.clia_number'],
    ],
    passes: [
      without('facility', 'clia_number'),
      ...passing('facility', 'clia_number', ['28D1234567', '28D5555555', 'pending']),
      all(facility({ clia_number: '28D7654321' }), encounter({ date_of_service: '2026-02-28' })),
    ],
  },
  cancelled_visit: {
    finds: each('encounter', 'status', [
      ...['cancelled', 'Canceled', 'no-show', 'NO SHOW', 'noshow', 'entered-in-error', ' cancelled '],
    ]),
    passes: passing('encounter', 'status', ['billed', 'finished', 'not cancelled', undefined]),
  },
  duplicate_of_billed: {
    isOtherBilled: true,
    finds: [
      [{ other: {} }, DATE],
      [{ encounter: { facility_id: undefined }, other: { facility_id: undefined } }, DATE],
      [{ other: { date_of_service: '2026-03-14', status: 'billed' } }, DATE],
    ],
    passes: [
      { other: { provider_id: 'd2' } },
      { other: { date_of_service: '2026-03-15' } },
      { other: { voided_at: '2026-03-15' } },
      { encounter: { voided_at: '2026-03-15' }, other: {} },
    ],
  },
  suspected_duplicate: {
    finds: [
      [{ other: {} }, DATE],
      [{ other: { date_of_service: '2026-03-14', rendering_provider_id: 'd2', is_completed: false } }, DATE],
      [{ encounter: { facility_id: undefined }, other: { facility_id: undefined } }, DATE],
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
      [encounter({ visit_type: 'telehealth' }), 'encounter.visit_type'],
      [encounter({ voided_at: '2026-03-15' }), 'encounter.voided_at'],
      [insured({ policy_number: 'W9' }), insurance('policy_number')],
      [without('facility', 'address_line_1', 'tax_id'), 'facility.tax_id', 'facility.address_line_1'],
      [provider({ npi: '2000000002' }), 'provider.npi'],
      [provider({ tax_id: '12-3456789' }), 'provider.tax_id'],
      [payer({ payer_code: '60055' }), 'payer.payer_code'],
      // Another record: only what names it has changed.
      [{ encounter: { facility_id: 'g' }, facility: { id: 'g', city: 'Lincoln' } }, 'encounter.facility_id'],
    ],
    passes: [
      {},
      { patient: { phone: '+1 402 555 0107' }, encounter: { status: 'billed', is_completed: false } },
      encounter({ void_reason: 'Entered twice' }),
      // A claim carries the same.
      patient({ state: 'ne', zip_code: '681021234', country: 'usa', last_name: ' Lopez' }),
    ],
  },
};

import { describe, expect, test } from 'vitest';
import { catalog } from '../../src/domain/records/catalog.ts';
import { insurance } from '../../src/domain/records/kinds/patient.ts';
import { documentSchemas } from '../../src/modules/eventStream/asyncapi.ts';
import {
  type CloudEvent,
  feedEventTypes,
  readinessSchemas,
} from '../../src/modules/eventStream/cloudEvents.ts';
import { shownFields as fieldsShown } from '../../src/modules/eventStream/deidentification.ts';

import { cloudEventOf, deidentify, pseudonym, shownFields } from '../support/log.ts';
import { insuranceRows, specTables } from '../support/samples.ts';

const named = (kind: string, fields: string[]) => fields.map((field) => `${kind}.${field}`);
const documentFields = [...Object.keys(documentSchemas.DocumentUploaded.shape), 'object_id'];
/** Those of readiness, each named by the type of its event in the log. */
const readinessFields = Object.entries(readinessSchemas).flatMap(([type, { shape }]) =>
  named(type, Object.keys(shape)),
);

/** Every field of the specification that an event of the stream can have, as `kind.field`. */
const specFields = [
  ...Object.entries({ ...specTables, insurance: insuranceRows }).flatMap(([kind, rows]) =>
    named(
      kind,
      rows.map(({ field }) => field),
    ),
  ),
  ...named('document', documentFields),
  ...readinessFields,
];

/** Every field that one can have. */
const allFields = [
  ...catalog.flatMap(({ kind, schema }) => named(kind, Object.keys(schema.shape))),
  ...named('insurance', Object.keys(insurance.schema.shape)),
  ...named('document', documentFields),
  ...readinessFields,
];

/**
 * HIPAA Safe Harbor, 45 CFR 164.514(b)(2)(i): the identifiers of the individual, of relatives, employers and household
 * members; here also those of the organisations and people who treat or insure them. Each field of the service stands
 * under the identifiers that it can hold.
 */
const safeHarbor: Record<string, string[]> = {
  '(A) names': [
    'patient.first_name',
    'patient.last_name',
    'insurance.subscriber_first_name',
    'insurance.subscriber_last_name',
    'provider.first_name',
    'provider.last_name',
    'payer.name',
    'facility.name',
  ],
  '(B) geographic subdivisions smaller than a state': ['patient', 'provider', 'facility']
    .flatMap((kind) =>
      ['address_line_1', 'address_line_2', 'city', 'zip_code'].map((field) => `${kind}.${field}`),
    )
    .concat(
      ['address_line1', 'address_line2', 'city', 'zip_code'].map((field) => `payer.${field}`),
      ['subscriber_address_line_1', 'subscriber_city', 'subscriber_zip_code'].map(
        (field) => `insurance.${field}`,
      ),
    ),
  '(C) elements of dates, except the year': [
    'patient.date_of_birth',
    'insurance.subscriber_date_of_birth',
    'insurance.effective_date',
    'insurance.termination_date',
    'encounter.date_of_service',
    'encounter.voided_at',
  ],
  '(D) telephone numbers': ['patient.phone', 'provider.phone', 'facility.phone', 'payer.contact_phone'],
  '(E) fax numbers': ['payer.fax', 'facility.fax'],
  '(F) email addresses': ['patient.email', 'provider.email', 'facility.email', 'payer.contact_email'],
  '(G) social security numbers': ['patient.ssn_last4'],
  '(H) medical record numbers': [
    'patient.id',
    'patient.merged_into',
    'encounter.id',
    'encounter.patient_id',
    'document.encounter_id',
    'EncounterBilled.encounter_id',
    'BillingChangeAcknowledged.encounter_id',
    'FindingAnswered.encounter_id',
    'ClaimOutcomeReported.encounter_id',
    'EncounterReadinessChanged.encounter_id',
    'ReadinessErased.encounter_id',
  ],
  '(I) health plan beneficiary numbers': [
    'insurance.policy_number',
    'insurance.group_number',
    'insurance.subscriber_id',
  ],
  '(J) account numbers': [
    'payer.payer_code',
    'facility.tax_id',
    'EncounterBilled.claim_id',
    'ClaimOutcomeReported.claim_id',
    'ClaimOutcomeReported.payer_claim_number',
  ],
  '(K) certificate and license numbers': ['provider.npi', 'facility.npi', 'facility.clia_number'],
  '(L) vehicle identifiers': [],
  '(M) device identifiers': [],
  '(N) web addresses': ['payer.website'],
  '(O) IP addresses': [],
  '(P) biometric identifiers': [],
  '(Q) full-face photographs': [],
  '(R) any other unique number, characteristic or code': [
    'payer.id',
    'provider.id',
    'facility.id',
    'insurance.payer_id',
    'encounter.provider_id',
    'encounter.rendering_provider_id',
    'encounter.facility_id',
    'document.document_id',
    'document.object_id',
    'document.sha256',
    'document.size',
    'document.filename',
    'provider.specialty',
    'encounter.status',
    'encounter.void_reason',
    'BillingChangeAcknowledged.reason',
    ...['statuses', 'adjustments', 'remarks'].map((field) => `ClaimOutcomeReported.${field}`),
    ...['rule', 'reason', 'until', 'assigned_to', 'note'].map((field) => `FindingAnswered.${field}`),
    'EncounterReadinessChanged.rules_version',
    'ReadinessRulesApplied.cause',
  ],
};

/** Fields that stand for a record: their values become keyed hashes, which still join. */
const hashed = [
  'patient.id',
  'payer.id',
  'provider.id',
  'facility.id',
  'encounter.id',
  'encounter.patient_id',
  'patient.merged_into',
  'encounter.provider_id',
  'encounter.rendering_provider_id',
  'encounter.facility_id',
  'insurance.payer_id',
  'document.encounter_id',
  'document.document_id',
  'EncounterBilled.encounter_id',
  'BillingChangeAcknowledged.encounter_id',
  'FindingAnswered.encounter_id',
  'ClaimOutcomeReported.encounter_id',
  'EncounterReadinessChanged.encounter_id',
  'ReadinessErased.encounter_id',
  'ReadinessRulesApplied.cause',
];

/** Fields that identify nobody, with a value that is shown and what is shown of it. */
const identifiesNobody: Record<string, [value: unknown, shown: unknown]> = {
  'patient.gender': ['female', 'female'],
  'patient.state': ['NE', 'NE'],
  'patient.country': ['US', 'US'],
  'insurance.subscriber_relationship': ['spouse', 'spouse'],
  'insurance.subscriber_state': ['NE', 'NE'],
  'insurance.subscriber_country': ['CA', 'CA'],
  'payer.payer_type': ['Workers Compensation', 'Workers Compensation'],
  'payer.state': ['CT', 'CT'],
  'payer.country': ['US', 'US'],
  'provider.role': ['attending_physician', 'attending_physician'],
  'provider.taxonomy_code': ['207QS0010X', '207Q'],
  'provider.state': ['PR', 'PR'],
  'provider.country': ['US', 'US'],
  'facility.facility_type': ['clinic', 'clinic'],
  'facility.state': ['AE', 'AE'],
  'facility.country': ['US', 'US'],
  'encounter.visit_type': ['telehealth', 'telehealth'],
  'encounter.is_completed': [false, false],
  'document.category': ['lab_results', 'lab_results'],
  'document.format': ['docx', 'docx'],
  'ClaimOutcomeReported.source': ['277CA', '277CA'],
  'ClaimOutcomeReported.outcome': ['denied', 'denied'],
  'FindingAnswered.answer': ['accepted', 'accepted'],
  'EncounterReadinessChanged.from': ['ready', 'ready'],
  'EncounterReadinessChanged.to': ['blocked', 'blocked'],
  'EncounterReadinessChanged.rules': [['payer_code_missing'], ['payer_code_missing']],
  'ReadinessRulesApplied.before': [{ ready: 3 }, { ready: 3 }],
  'ReadinessRulesApplied.after': [{ blocked: 3 }, { blocked: 3 }],
};

const split = (name: string) => name.split('.') as [string, string];
const dates = safeHarbor['(C) elements of dates, except the year'] as string[];
const identifying = Object.entries(safeHarbor).flatMap(([category, names]) =>
  names.map((name) => [category, name] as const),
);

describe('each field', () => {
  test('of the specification stands under one identifier of the Safe Harbor, or identifies nobody', () => {
    const nested = [
      ...['primary', 'secondary', 'tertiary'].map((rank) => `patient.${rank}_insurance`),
      ...[
        'EncounterBilled.versions',
        'BillingChangeAcknowledged.versions',
        'FindingAnswered.record',
        'EncounterReadinessChanged.cause',
      ],
    ];
    const classed = [...identifying.map(([, name]) => name), ...Object.keys(identifiesNobody), ...nested];
    expect(classed.sort()).toEqual(specFields.sort());
    expect(Object.keys(safeHarbor).join('')).toMatch(/^(?:\(([A-R])\)[^(]+){18}$/);
  });

  test('has a decision, and no decision is left of a field that is gone', () => {
    const kinds = feedEventTypes.map(
      (one) => [one.kind === 'readiness' ? one.logType : one.kind, one] as const,
    );
    const decided = [
      ...[...new Map(kinds)].flatMap(([kind, told]) =>
        named(kind, Object.keys(fieldsShown('deidentified', told))),
      ),
      ...named('insurance', Object.keys(insurance.rules)),
    ];
    expect(decided.sort()).toEqual(allFields.sort());
  });

  test.each(allFields)('%s shows nothing of a text that could be anything', (name) => {
    const [kind, field] = split(name);
    const text = 'Mimi-5551234567';
    expect(JSON.stringify(shownFields(kind, { [field]: text }))).not.toContain(text);
  });

  test.each(identifying)('%s: %s', (_category, name) => {
    const [kind, field] = split(name);
    const value = dates.includes(name) ? '2019-07-21T10:00:00Z' : '5551234567';
    const sent = shownFields(kind, { [field]: value });
    if (dates.includes(name)) expect(sent[field]).toBe('2019');
    else if (hashed.includes(name)) expect(sent[field]).toEqual(pseudonym);
    else expect(sent).not.toHaveProperty([field]);
    expect(JSON.stringify(sent)).not.toContain(value);
  });

  test.each(Object.entries(identifiesNobody))('%s is shown', (name, [value, expected]) => {
    const [kind, field] = split(name);
    expect(shownFields(kind, { [field]: value })[field]).toEqual(expected);
  });

  test.each([
    ['patient.gender', 'Maria'],
    ['patient.state', 'ML'],
    ['patient.state', '12 Elm Street'],
    ['patient.country', 'Omaha'],
    ['insurance.subscriber_state', 'Nebraska, 68102'],
    ['insurance.subscriber_country', 'usa'],
    ['payer.payer_type', 'Plan of Maria Lopez'],
    ['provider.taxonomy_code', 'Dr Nguyen'],
    ['patient.date_of_birth', 'Maria, 1984'],
    ['patient.id', 17],
    ['EncounterReadinessChanged.to', 'seen by Maria'],
    ['EncounterReadinessChanged.rules', ['Maria, 1984']],
    ['ReadinessRulesApplied.after', { maria: 1 }],
  ])('%s is left out when it holds anything else: %p', (name, value) => {
    const [kind, field] = split(name);
    expect(shownFields(kind, { [field]: value })).not.toHaveProperty([field]);
  });

  test('is left out when nobody decided on it', () => {
    const hostile = JSON.parse('{"nickname": "Mimi-5551", "__proto__": {"nickname": "Mimi-5551"}}');
    const event = cloudEventOf('patient', {
      id: 'patient-1',
      ...hostile,
      primary_insurance: { payer_id: 'payer-1', nickname: 'Mimi-5551' },
    });
    const result = deidentify('clinic', { ...event, nickname: 'Mimi-5551' } as unknown as CloudEvent);
    expect(JSON.stringify(result)).not.toMatch(/Mimi|nickname/);
  });

  test('that was cleared is shown as cleared, unless it is left out', () => {
    const cleared = { phone: null, gender: null, primary_insurance: null };
    expect(shownFields('patient', cleared)).toEqual({ id: pseudonym, gender: null, primary_insurance: null });
    expect(shownFields('encounter', { facility_id: null })).toEqual({ id: pseudonym, facility_id: null });
  });
});

describe('an age of 90 and more is grouped', () => {
  const at = '2026-03-14T09:30:15.250Z';
  test.each([
    ['1984-02-29', '1984'],
    ['1937-01-01', '1937'],
    ['1936-12-31', '1936 or earlier'],
    ['1936-01-01T00:00:00Z', '1936 or earlier'],
    ['1900-05-05', '1936 or earlier'],
    ['2026-03-14', '2026'],
    ['2031-01-01', '2031'],
  ])('%s is shown as %s in 2026', (value, expected) => {
    for (const name of dates) {
      const [kind, field] = split(name);
      expect(shownFields(kind, { [field]: value }, at)[field]).toBe(expected);
    }
  });

  test('by the time of the event, so that a replay shows the same', () => {
    const birth = { date_of_birth: '1936-05-05' };
    expect(shownFields('patient', birth, '2025-12-31T23:59:59.999Z').date_of_birth).toBe('1936');
    expect(shownFields('patient', birth, '2026-01-01T00:00:00.000Z').date_of_birth).toBe('1936 or earlier');
  });
});

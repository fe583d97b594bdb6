import { reducedDate } from '../schema/deidentification.ts';
import { date, flag, identifier, oneOf, reference, requiredReference, text } from '../schema/fields.ts';
import { defineKind } from '../schema/kind.ts';
import { inLifetime, notSsn } from '../schema/validation.ts';

export const visitTypes = [
  'office_visit',
  'telehealth',
  'inpatient',
  'outpatient',
  'emergency',
  'observation',
  'surgical',
] as const;

/** Spec section 2.6. */
export const encounter = defineKind({
  kind: 'encounter',
  plural: 'encounters',
  title: 'Encounter',
  description: 'A patient visit.',
  eventType: 'EncounterUpserted',
  fields: {
    id: identifier("The caller's encounter identifier", 'encounter-4001'),
    patient_id: requiredReference('patient', 'Must refer to an existing patient', 'patient-1001'),
    provider_id: reference('provider', 'Billing/attending provider', 'provider-2001'),
    rendering_provider_id: reference(
      'provider',
      'Rendering provider, if different; if omitted, `provider_id` is used as the rendering provider',
      'provider-2001',
      'Rendering provider',
    ),
    facility_id: reference('facility', 'Where the service was rendered', 'facility-3001'),
    date_of_service: date('2026-03-14T09:30:00Z'),
    visit_type: oneOf(visitTypes),
    status: text('checked_in', 'Free string'),
    is_completed: flag('`true` marks the encounter ready for the billing workflow'),
    // No examples: the encounter that people copy should be one that counts.
    voided_at: date(
      undefined,
      'When the encounter was voided: it is kept and can be read, but is not billed, whatever the date; ' +
        '`null`: it is valid again',
    ),
    void_reason: text(undefined, 'Why the encounter was voided'),
  },
  defaults: { rendering_provider_id: { sameAs: 'provider_id' } },
  deidentified: {
    id: 'hashed',
    patient_id: 'hashed',
    provider_id: 'hashed',
    rendering_provider_id: 'hashed',
    facility_id: 'hashed',
    date_of_service: reducedDate,
    visit_type: 'shown',
    status: 'left out',
    is_completed: 'shown',
    voided_at: reducedDate,
    void_reason: 'left out',
  },
  usedInClaim: {
    id: false,
    patient_id: true,
    provider_id: true,
    rendering_provider_id: true,
    facility_id: true,
    date_of_service: true,
    visit_type: true,
    status: false,
    is_completed: false,
    voided_at: true,
    void_reason: false,
  },
  checks: {
    id: notSsn,
    patient_id: notSsn,
    provider_id: notSsn,
    rendering_provider_id: notSsn,
    facility_id: notSsn,
    date_of_service: inLifetime,
    voided_at: inLifetime,
  },
  doubts: ({ voided_at, void_reason }) =>
    void_reason && !voided_at
      ? [
          {
            field: 'void_reason',
            message: 'has no effect without voided_at, sent now or in an earlier version',
          },
        ]
      : [],
  listedBy: 'date_of_service',
  filters: [
    { field: 'patient_id', by: 'value' },
    { field: 'provider_id', by: 'value' },
    { field: 'facility_id', by: 'value' },
    { field: 'is_completed', by: 'value' },
    { field: 'date_of_service', by: 'range' },
  ],
});

export const attending = {
  ...{ type: 'record', kind: 'provider', at: 'PV1^1^7', ifAbsent: true },
  fields: { id: '1234567893', first_name: 'Ada', last_name: 'Nguyen', npi: '1234567893' },
};
export const facility = {
  ...{ type: 'record', kind: 'facility', at: 'PV1^1^3', ifAbsent: true },
  fields: { id: 'ELMST', name: 'ELMST' },
};
export const encounter = (fields: object) => ({ type: 'record', kind: 'encounter', at: 'PV1^1', fields });
export const begunEncounter = (fields: object) => ({ ...encounter(fields), given: 'begun' });
export const patient = (fields: object) => ({ type: 'record', kind: 'patient', at: 'PID^1', fields });
export const stay = { id: 'V-1001', patient_id: '4711' };

/** What the fixtures say, by their name, where it is told at length. */
export const expected: Record<string, { operations: unknown[]; issues: unknown[] }> = {
  'adt-a01-admission': {
    operations: [
      {
        ...{ type: 'record', kind: 'payer', at: 'IN1^2', ifAbsent: true },
        fields: {
          ...{ id: '60054', name: 'Aetna', contact_phone: '+1 800 5550199' },
          ...{
            address_line1: '151 Farmington Avenue',
            address_line2: 'Floor 2',
            city: 'Hartford',
            state: 'CT',
          },
          ...{ zip_code: '06156', country: 'US' },
        },
      },
      {
        ...{ type: 'record', kind: 'payer', at: 'IN1^1', ifAbsent: true },
        fields: { id: 'MCR', name: 'Medicare Part B' },
      },
      patient({
        ...{
          id: '4711',
          first_name: 'Beatriz',
          last_name: 'Rivera',
          date_of_birth: '1984-02-29',
          gender: 'female',
        },
        ...{ phone: '+1 402 5550100 x7', email: 'beatriz.rivera@example.com', ssn_last4: '4321' },
        ...{ address_line_1: '12 Elm Street', address_line_2: 'Apt 3', city: 'Omaha', state: 'NE' },
        ...{ zip_code: '68102', country: 'US' },
        primary_insurance: {
          ...{ payer_id: '60054', policy_number: 'W123456789', group_number: '0098765' },
          ...{ effective_date: '2026-01-01', termination_date: '2026-12-31', subscriber_id: 'SUB-77' },
          ...{
            subscriber_first_name: 'Luis',
            subscriber_last_name: 'Rivera',
            subscriber_relationship: 'spouse',
          },
          ...{ subscriber_date_of_birth: '1982-01-05', subscriber_address_line_1: '12 Elm Street' },
          ...{
            subscriber_city: 'Omaha',
            subscriber_state: 'NE',
            subscriber_zip_code: '68102',
            subscriber_country: 'US',
          },
        },
        secondary_insurance: {
          ...{ payer_id: 'MCR', policy_number: '1EG4-TE5-MK73', effective_date: '2026-02-01' },
          subscriber_relationship: 'self',
        },
      }),
      ...[attending, facility],
      begunEncounter({
        ...stay,
        ...{ provider_id: '1234567893', facility_id: 'ELMST', visit_type: 'inpatient' },
        ...{ date_of_service: '2026-03-14T09:30:00-05:00', status: 'in-progress', is_completed: false },
        ...{ voided_at: null, void_reason: null },
      }),
    ],
    issues: [],
  },
  'adt-a03-discharge': {
    operations: [
      ...[attending, facility],
      encounter({
        ...stay,
        ...{ provider_id: '1234567893', facility_id: 'ELMST', visit_type: 'inpatient' },
        ...{ date_of_service: '2026-03-14T09:30:00-05:00', status: 'finished', is_completed: true },
      }),
    ],
    issues: [],
  },
  'adt-a08-clears': {
    operations: [
      patient({
        ...{
          id: '4711',
          first_name: 'Beatriz',
          last_name: 'Rivera',
          date_of_birth: '1984-02-29',
          gender: null,
        },
        ...{ phone: null, email: null, ssn_last4: null },
        ...{ address_line_1: '9 Oak Road', address_line_2: null, city: 'Lincoln', state: 'NE' },
        ...{ zip_code: '68502', country: 'US' },
        ...{
          primary_insurance: null,
          secondary_insurance: { payer_id: '60054', policy_number: 'W123456789' },
        },
      }),
      encounter({ ...stay, provider_id: null, visit_type: 'inpatient' }),
    ],
    issues: [],
  },
  'adt-a11-cancelled': {
    operations: [
      encounter({
        ...stay,
        voided_at: '2026-03-14T09:55:00-05:00',
        void_reason: 'Entered for the wrong person',
      }),
    ],
    issues: [],
  },
  'adt-a13-discharge-cancelled': {
    operations: [encounter({ ...stay, visit_type: 'inpatient', status: 'in-progress', is_completed: false })],
    issues: [],
  },
  'adt-a28-person': {
    operations: [
      patient({
        ...{
          id: '5005',
          first_name: 'Yu',
          last_name: 'Tanaka',
          date_of_birth: '2001-09-17',
          gender: 'other',
        },
        ...{
          phone: '503-555-0144',
          ssn_last4: '4323',
          city: 'Portland',
          state: 'OR',
          zip_code: '97201',
          country: 'US',
        },
      }),
    ],
    issues: [],
  },
  'adt-a31-latin1': {
    operations: [
      patient({
        id: '5006',
        first_name: 'Renée',
        last_name: 'Muñoz',
        date_of_birth: '1977-07-04',
        gender: 'female',
      }),
    ],
    issues: [],
  },
  'siu-s15-cancelled': {
    operations: [
      {
        ...patient({
          ...{ id: '4711', first_name: 'Beatriz', last_name: 'Rivera', date_of_birth: '1984-02-29' },
          gender: 'female',
        }),
        ifAbsent: true,
      },
      {
        ...encounter({
          ...{ id: 'V-3001', patient_id: '4711' },
          ...{ voided_at: '2026-02-18T11:30:00-06:00', void_reason: 'The patient asked for it' },
        }),
        given: 'planned',
      },
    ],
    issues: [],
  },
  'siu-s12-without-visit': {
    operations: [],
    issues: [
      {
        ...{ severity: 'warning', code: '101', location: 'PV1^1^19' },
        text: 'The appointment does not name a visit, so it is ignored.',
      },
    ],
  },
  'adt-a40-merge': {
    operations: [
      patient({ id: '4711', first_name: 'Beatriz', last_name: 'Rivera', date_of_birth: '1984-02-29' }),
      {
        ...{ type: 'merge', kind: 'patient', id: '4700', into: '4711', at: 'MRG^1' },
        fields: { merged_into: '4711' },
      },
    ],
    issues: [],
  },
  'dft-p03-charges': {
    operations: [
      {
        ...{ type: 'record', kind: 'payer', at: 'IN1^1', ifAbsent: true },
        fields: { id: '61101', name: 'Humana' },
      },
      patient({
        ...{
          id: '6001',
          first_name: 'Omar',
          last_name: 'Haddad',
          date_of_birth: '1969-12-01',
          gender: 'male',
        },
        primary_insurance: {
          ...{ payer_id: '61101', policy_number: 'H555', subscriber_relationship: 'child' },
          ...{ subscriber_first_name: 'Nadia', subscriber_last_name: 'Haddad' },
        },
      }),
      {
        ...{ type: 'record', kind: 'provider', at: 'FT1^2^20', ifAbsent: true },
        fields: { id: 'N-3', first_name: 'Ewa', last_name: 'Kowalska' },
      },
      {
        ...attending,
        fields: { id: 'D-9', first_name: 'Kofi', last_name: 'Osei', npi: '1093817465' },
      },
      { ...facility, fields: { id: '2.16.840.1.888', name: '2.16.840.1.888' } },
      encounter({
        ...{ id: 'V-4001', patient_id: '6001', provider_id: 'D-9', rendering_provider_id: 'N-3' },
        ...{ facility_id: '2.16.840.1.888', visit_type: 'outpatient', date_of_service: '2026-04-10' },
      }),
    ],
    issues: [],
  },
};

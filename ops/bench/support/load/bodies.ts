/** Size of a patient's JSON. */
export const PATIENT_BYTES = 1024;

/** The number of records that patients and encounters refer to. */
export const PAYERS = 20;
export const PROVIDERS = 200;
export const FACILITIES = 50;
/** Patients that encounters refer to. */
export const PATIENTS_WITH_ENCOUNTERS = 5_000;

/** Digits of the one field in which requests for the same record differ. */
export const TURN_DIGITS = 16;
const FIRST_TURN = turnText(0);

const PADDED = '"address_line_2":"';

/** Returns the text of that field for a number: always of the same length. */
export function turnText(turn: number): string {
  return String(turn).padStart(TURN_DIGITS, '0');
}

function patient(index: number, turn: string): string {
  const json = JSON.stringify({
    id: `patient-${index}`,
    first_name: 'Maria',
    last_name: `Lopez-${index}`,
    date_of_birth: '1984-02-29',
    gender: 'female',
    phone: '+1 402 555 0100',
    email: `maria.lopez.${index}@example.com`,
    ssn_last4: '1234',
    address_line_1: `${index} Elm Street`,
    address_line_2: turn,
    city: 'Omaha',
    state: 'NE',
    zip_code: '68102',
    country: 'US',
    primary_insurance: {
      payer_id: `payer-${index % PAYERS}`,
      policy_number: `W${index}`,
      group_number: '0098765',
      effective_date: '2026-01-01',
      termination_date: '2026-12-31',
      subscriber_id: `SUB-${index}`,
      subscriber_first_name: 'Jose',
      subscriber_last_name: `Lopez-${index}`,
      subscriber_relationship: 'spouse',
      subscriber_date_of_birth: '1982-07-04',
      subscriber_address_line_1: `${index} Elm Street`,
      subscriber_city: 'Omaha',
      subscriber_state: 'NE',
      subscriber_zip_code: '68102',
      subscriber_country: 'US',
    },
  });
  return json.replace(PADDED, PADDED + 'Apartment 3 '.repeat(90).slice(0, PATIENT_BYTES - json.length));
}

function encounter(index: number, turn: string): string {
  return JSON.stringify({
    id: `encounter-${index}`,
    patient_id: `patient-${index % PATIENTS_WITH_ENCOUNTERS}`,
    provider_id: `provider-${index % PROVIDERS}`,
    rendering_provider_id: `provider-${(index + 1) % PROVIDERS}`,
    facility_id: `facility-${index % FACILITIES}`,
    date_of_service: '2026-03-14T09:30:00Z',
    visit_type: 'office_visit',
    status: `checked_in ${turn}`,
    is_completed: false,
  });
}

const payer = (index: number, turn: string) =>
  JSON.stringify({ id: `payer-${index}`, name: `Aetna ${turn}`, payer_code: '60054' });
const provider = (index: number, turn: string) =>
  JSON.stringify({
    id: `provider-${index}`,
    first_name: 'Ada',
    last_name: `Nguyen ${turn}`,
    npi: '1234567893',
  });
const facility = (index: number, turn: string) =>
  JSON.stringify({ id: `facility-${index}`, name: `Elm Street Clinic ${turn}` });

const texts = {
  payers: payer,
  providers: provider,
  facilities: facility,
  patients: patient,
  encounters: encounter,
};

export type Kind = keyof typeof texts;

/**
 * Returns the JSON of the record of a kind with a number; a different text for each turn, which has `TURN_DIGITS`
 * digits.
 */
export function bodyOf(kind: Kind, index: number, turn = FIRST_TURN): string {
  return texts[kind](index, turn);
}

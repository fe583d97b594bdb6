import type { FieldMessage } from '../../errors.ts';
import { stateCode } from './stateCode.ts';
import type { SyntheaRow } from './syntheaFiles.ts';

type Fields = Record<string, unknown>;

/** Without the fields whose cells were empty or missing. */
function present(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== ''),
  );
}

interface Address {
  ADDRESS?: string;
  CITY?: string;
  STATE?: string;
  ZIP?: string;
}

function address({ ADDRESS, CITY, STATE, ZIP }: Address): Fields {
  return { address_line_1: ADDRESS, city: CITY, state: stateCode(STATE), zip_code: zipCode(ZIP) };
}

/** A ZIP code, or ZIP+4, that was taken for a number somewhere: without its one or two leading zeros. */
const numericZip = /^(?:\d{3,4}|\d{7,8})$/;

/** ZIP+4 as USPS writes it, with the leading zeros that a spreadsheet may have dropped. */
function zipCode(zip: string | undefined): string | undefined {
  const padded = zip && numericZip.test(zip) ? zip.padStart(zip.length > 5 ? 9 : 5, '0') : zip;
  return padded?.replace(/^(\d{5})(\d{4})$/, '$1-$2');
}

/** What the mapping of a row had to guess. */
export function mappingWarnings({ ZIP }: { ZIP?: string }): FieldMessage[] {
  if (ZIP === undefined || !numericZip.test(ZIP)) return [];
  return [{ field: 'zip_code', message: 'had lost its leading zeros in the file; they were added' }];
}

/** The last word is the last name, all before it the first. */
function splitName(name = ''): { first: string; last: string } {
  const words = name.trim().split(/\s+/);
  return { first: words.slice(0, -1).join(' '), last: words.at(-1) ?? '' };
}

const genders: Partial<Record<string, string>> = { M: 'male', F: 'female' };

/** The only place that sees a full SSN. */
function lastFour(ssn = ''): string | undefined {
  const digits = ssn.replace(/\D/g, '');
  return digits.length >= 4 ? digits.slice(-4) : undefined;
}

/** A row of `patients.csv`, with the patient's latest row of `payer_transitions.csv`. */
export function mapPatient(
  row: SyntheaRow<'patients.csv'>,
  transition: SyntheaRow<'payer_transitions.csv'> | undefined,
): Fields {
  return present({
    id: row.Id,
    first_name: row.FIRST,
    last_name: row.LAST,
    date_of_birth: row.BIRTHDATE,
    gender: genders[row.GENDER ?? ''],
    ssn_last4: lastFour(row.SSN),
    ...address(row),
    ...(transition && mapTransition(transition)),
  });
}

/** How the patient stands to the owner of the plan; a guardian's plan covers the patient as a child. */
const relationships: Partial<Record<string, string>> = { Self: 'self', Spouse: 'spouse', Guardian: 'child' };

function mapTransition(row: SyntheaRow<'payer_transitions.csv'>): Fields {
  const coverage = { effective_date: row.START_DATE, termination_date: row.END_DATE };
  return {
    primary_insurance: row.PAYER
      ? present({ payer_id: row.PAYER, policy_number: row.MEMBERID, ...coverage, ...subscriber(row) })
      : undefined,
    secondary_insurance: row.SECONDARY_PAYER
      ? present({ payer_id: row.SECONDARY_PAYER, ...coverage })
      : undefined,
  };
}

function subscriber({ PLAN_OWNERSHIP, OWNER_NAME }: SyntheaRow<'payer_transitions.csv'>): Fields {
  if (!PLAN_OWNERSHIP) return {};
  const relationship = relationships[PLAN_OWNERSHIP] ?? 'other';
  if (relationship === 'self') return { subscriber_relationship: relationship };
  const { first, last } = splitName(OWNER_NAME);
  return {
    subscriber_relationship: relationship,
    subscriber_first_name: first,
    subscriber_last_name: last,
  };
}

function payerType({ NAME, OWNERSHIP }: SyntheaRow<'payers.csv'>): string | undefined {
  if (NAME === 'NO_INSURANCE' || OWNERSHIP === 'NO_INSURANCE') return 'Self-Pay';
  if (OWNERSHIP === 'PRIVATE') return 'Private';
  if (OWNERSHIP !== 'GOVERNMENT') return undefined;
  return NAME === 'Medicare' || NAME === 'Medicaid' ? NAME : 'Government';
}

/** A row of `payers.csv`. */
export function mapPayer(row: SyntheaRow<'payers.csv'>): Fields {
  return present({
    id: row.Id,
    name: row.NAME,
    payer_type: payerType(row),
    contact_phone: row.PHONE,
    address_line1: row.ADDRESS,
    city: row.CITY,
    state: stateCode(row.STATE_HEADQUARTERED),
    zip_code: zipCode(row.ZIP),
  });
}

/** A row of `providers.csv`. */
export function mapProvider(row: SyntheaRow<'providers.csv'>): Fields {
  const { first, last } = splitName(row.NAME);
  return present({
    id: row.Id,
    first_name: first,
    last_name: last,
    specialty: row.SPECIALITY,
    ...address(row),
  });
}

/** A row of `organizations.csv`, as a facility. */
export function mapOrganization(row: SyntheaRow<'organizations.csv'>): Fields {
  return present({ id: row.Id, name: row.NAME, phone: row.PHONE, ...address(row) });
}

/** Synthea's encounter classes (its `EncounterType`) as visit types; a class not listed has none. */
const visitTypes: Partial<Record<string, string>> = {
  wellness: 'office_visit',
  ambulatory: 'outpatient',
  outpatient: 'outpatient',
  urgentcare: 'outpatient',
  home: 'outpatient',
  virtual: 'telehealth',
  emergency: 'emergency',
  inpatient: 'inpatient',
  hospice: 'inpatient',
  snf: 'inpatient',
};

/** A row of `encounters.csv`. Statuses are those of FHIR R4's Encounter. */
export function mapEncounter(row: SyntheaRow<'encounters.csv'>): Fields {
  const finished = Boolean(row.STOP);
  return present({
    id: row.Id,
    patient_id: row.PATIENT,
    provider_id: row.PROVIDER,
    facility_id: row.ORGANIZATION,
    date_of_service: row.START,
    visit_type: visitTypes[row.ENCOUNTERCLASS?.toLowerCase() ?? ''],
    status: finished ? 'finished' : 'in-progress',
    is_completed: finished,
  });
}

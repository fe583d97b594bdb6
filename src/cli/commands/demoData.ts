/** Random numbers that are the same for the same seed, on every machine (mulberry32, a public-domain 32-bit generator). */
class SeededRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Returns a number from 0 up to, but not including, 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Returns an integer from `least` to `most`. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  /** Returns one of the values. */
  pick<Value>(values: readonly Value[]): Value {
    return values[this.between(0, values.length - 1)] as Value;
  }

  /** Returns true in that percentage of cases. */
  isIn(percent: number): boolean {
    return this.next() * 100 < percent;
  }

  /** Returns `count` decimal digits. */
  digits(count: number): string {
    return Array.from({ length: count }, () => this.between(0, 9)).join('');
  }
}

/** Returns a one-page PDF with a line of text, which must not contain parentheses or backslashes. */
function demoPdf(text: string): string {
  const content = `BT /F1 18 Tf 72 720 Td (${text}) Tj ET`;
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ];
  let pdf = '%PDF-1.4\n';
  const places = objects.map((object, index) => {
    const place = pdf.length;
    pdf += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(place).padStart(10, '0')} 00000 n \n`;
  });
  const size = objects.length + 1;
  const table = `xref\n0 ${size}\n0000000000 65535 f \n${places.join('')}`;
  return `${pdf}${table}trailer\n<< /Size ${size} /Root 1 0 R >>\nstartxref\n${pdf.length}\n%%EOF\n`;
}

const PATIENTS = 200;

/** One of the requests that fill a sandbox. */
export type DemoRequest = { refused?: true } & (
  | { send: 'record'; plural: string; record: Readonly<Record<string, unknown>> }
  | { send: 'document'; encounterId: string; documentId: string; category: string; pdf: string }
);

const firstNames = [
  'Ada',
  'Ben',
  'Carla',
  'Dmitri',
  'Esther',
  'Femi',
  'Grace',
  'Hiro',
  'Ines',
  'Jonas',
  'Kavya',
  'Liam',
  'Mona',
  'Noor',
];
const lastNames = [
  'Abernathy',
  'Brook',
  'Castellano',
  'Dunmore',
  'Eastwick',
  'Fairbanks',
  'Gallagher',
  'Hollis',
  'Iverson',
  'Juniper',
];
const streets = ['Maple Street', 'Oak Avenue', 'Harbor Road', 'Mill Lane', 'Sunset Drive'];
const places = [
  { city: 'Omaha', state: 'NE', zip_code: '68102' },
  { city: 'Boise', state: 'ID', zip_code: '83702' },
  { city: 'Dayton', state: 'OH', zip_code: '45402' },
  { city: 'Salem', state: 'OR', zip_code: '97301' },
] as const;
const payers = ['Prairie Mutual', 'Harborview Health', 'Northern Lights Insurance', 'Self-Pay Desk'];
const facilities = ['Riverside Clinic', 'Hilltop Hospital', 'Telehealth Desk'];
const specialties = [
  'Family Medicine',
  'Cardiology',
  'Dermatology',
  'Pediatrics',
  'Orthopedics',
  'Radiology',
];
const visits = ['office_visit', 'telehealth', 'inpatient', 'outpatient', 'emergency'];
const documents = ['lab_results', 'doctor_notes', 'discharge_summary', 'referral'];

const numbered = (kind: string, number: number) => `demo-${kind}-${String(number).padStart(4, '0')}`;
const record = (plural: string, fields: Record<string, unknown>): DemoRequest => ({
  send: 'record',
  plural,
  record: fields,
});

/**
 * Returns made-up records of 200 patients: what they refer to, encounters, documents, later changes, and some that the service
 * refuses. In groups, each of which depends on the previous ones; the requests of a group concern different records. The same for
 * the same seed.
 */
export function demoRequests(seed: number): DemoRequest[][] {
  const dice = new SeededRandom(seed);
  const patients = Array.from({ length: PATIENTS }, (_, index) => patientOf(dice, index + 1));
  const encounters = patients.flatMap(({ id }, index) =>
    Array.from({ length: dice.between(1, 3) }, (_, visit) => encounterOf(dice, id, index * 3 + visit + 1)),
  );
  const moved = patients
    .filter(() => dice.isIn(30))
    .map(({ id, ...rest }) => ({ ...rest, id, ...addressOf(dice) }));
  const insuredElsewhere = patients
    .filter(() => dice.isIn(15))
    .map((one) => ({ ...one, primary_insurance: insuranceOf(dice) }));
  return [
    payers.map((name, index) => payerOf(name, index + 1)),
    specialties.map((specialty, index) => providerOf(dice, specialty, index + 1)),
    facilities.map((name, index) => facilityOf(dice, name, index + 1)),
    patients.map((one) => record('patients', one)),
    encounters.map((one) => record('encounters', one)),
    encounters.filter(() => dice.isIn(20)).map(({ id }) => documentOf(dice, id)),
    moved.map((one) => record('patients', one)),
    insuredElsewhere.map((one) => record('patients', one)),
    encounters
      .filter(() => dice.isIn(80))
      .map((one) => record('encounters', { ...one, status: 'finished', is_completed: true })),
    refusals(dice),
  ];
}

function addressOf(dice: SeededRandom) {
  return { address_line_1: `${dice.between(1, 980)} ${dice.pick(streets)}`, ...dice.pick(places) };
}

function insuranceOf(dice: SeededRandom) {
  return {
    payer_id: numbered('payer', dice.between(1, payers.length)),
    policy_number: `P-${dice.digits(8)}`,
  };
}

function patientOf(dice: SeededRandom, number: number) {
  const day = (most: number) => String(dice.between(1, most)).padStart(2, '0');
  return {
    id: numbered('patient', number),
    first_name: dice.pick(firstNames),
    last_name: dice.pick(lastNames),
    date_of_birth: `${dice.between(1935, 2020)}-${day(12)}-${day(28)}`,
    gender: dice.pick(['male', 'female', 'other']),
    // Fictitious numbers: 555-0100 to 555-0199.
    phone: `402-555-01${dice.digits(2)}`,
    ...addressOf(dice),
    primary_insurance: insuranceOf(dice),
  };
}

function payerOf(name: string, number: number): DemoRequest {
  return record('payers', {
    id: numbered('payer', number),
    name,
    payer_code: `DEMO${number}`,
    payer_type: 'Private',
  });
}

function providerOf(dice: SeededRandom, specialty: string, number: number): DemoRequest {
  const fields = { first_name: dice.pick(firstNames), last_name: dice.pick(lastNames), specialty };
  return record('providers', { id: numbered('provider', number), ...fields, role: 'rendering_provider' });
}

function facilityOf(dice: SeededRandom, name: string, number: number): DemoRequest {
  return record('facilities', {
    id: numbered('facility', number),
    name,
    facility_type: 'clinic',
    ...addressOf(dice),
  });
}

function encounterOf(dice: SeededRandom, patientId: string, number: number) {
  const [month, day] = [dice.between(1, 12), dice.between(1, 28)].map((part) =>
    String(part).padStart(2, '0'),
  );
  return {
    id: numbered('encounter', number),
    patient_id: patientId,
    provider_id: numbered('provider', dice.between(1, specialties.length)),
    facility_id: numbered('facility', dice.between(1, facilities.length)),
    date_of_service: `2025-${month}-${day}T${String(dice.between(8, 17)).padStart(2, '0')}:30:00Z`,
    visit_type: dice.pick(visits),
    status: 'checked_in',
    is_completed: false,
  };
}

function documentOf(dice: SeededRandom, encounterId: string): DemoRequest {
  const category = dice.pick(documents);
  const pdf = demoPdf(`Made-up ${category.replaceAll('_', ' ')} of ${encounterId}`);
  return { send: 'document', encounterId, documentId: `${encounterId}-${category}`, category, pdf };
}

/** Returns mistakes that an EMR under development would make. */
function refusals(dice: SeededRandom): DemoRequest[] {
  const nobody = (number: number) => ({ id: numbered('refused', number), patient_id: 'demo-patient-9999' });
  return [
    ...[1, 2, 3].map((number) => record('encounters', nobody(number))),
    record('patients', { ...patientOf(dice, PATIENTS + 1), date_of_birth: '1990-02-30' }),
    record('patients', { ...patientOf(dice, PATIENTS + 2), gender: 'unknown' }),
    record('providers', { id: numbered('provider', 99), last_name: 'Hollis' }),
  ].map((request) => ({ ...request, refused: true }));
}

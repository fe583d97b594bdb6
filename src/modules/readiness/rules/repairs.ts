import type { RecordFields } from '../../../domain/records/schema/kind.ts';
import { stateCode } from '../../../domain/records/schema/states.ts';
import { countryCode } from '../../../domain/records/schema/validation.ts';

/** A value of a record that a claim carries in another form: the record keeps what was sent. */
export interface Repair {
  /** Dotted when nested. */
  field: string;
  from: string;
  value: string;
}

/** Returns a value in the form in which a claim carries it, given the country of its address. */
type Mend = (value: string, country: string) => string;

const blanks: Mend = (value) => {
  const trimmed = value.trim();
  return trimmed.includes('  ') ? trimmed.replaceAll(/\s+/g, ' ') : trimmed;
};

/** The basic and extended character sets of X12 have no typographic apostrophes and dashes. */
const text: Mend = (value, country) => {
  const plain = /[‘’–]/.test(value) ? value.replaceAll(/[‘’]/g, "'").replaceAll('–', '-') : value;
  return blanks(plain, country);
};

const upperCase: Mend = (value, country) => blanks(value, country).toUpperCase();

const country: Mend = (value) => countryCode(value) ?? value;

const state: Mend = (value, ofCountry) =>
  ofCountry === 'US' || ofCountry === 'CA' ? stateCode(value).trim().toUpperCase() : value;

const zipCode: Mend = (value, ofCountry) => {
  if (ofCountry === 'US') return value.trim().replace(/^(\d{5})[ -]?(\d{4})$/, '$1-$2');
  if (ofCountry !== 'CA') return value;
  return value
    .trim()
    .toUpperCase()
    .replace(/^([A-Z]\d[A-Z])[ -]?(\d[A-Z]\d)$/, '$1 $2');
};

const taxId: Mend = (value) => value.trim().replace(/^(\d\d)[ -]?(\d{7})$/, '$1-$2');

/** A letter, or a letter or digit, of a Medicare Beneficiary Identifier: without S, L, O, I, B and Z. */
const LETTER = '[AC-HJKMNP-RT-Y]';
const EITHER = '[AC-HJKMNP-RT-Y0-9]';
/** CMS, Understanding the Medicare Beneficiary Identifier format. */
export const MBI = new RegExp(`^[1-9]${LETTER}${EITHER}\\d${LETTER}${EITHER}\\d${LETTER}{2}\\d{2}$`);
/** Written with dashes or blanks, or in lower case. */
const LENGTH_OF_MBI = 11;
const LONGEST_MBI = 15;

const memberId: Mend = (value, ofCountry) => {
  if (value.length >= LENGTH_OF_MBI && value.length <= LONGEST_MBI) {
    const plain = value.replaceAll(/[\s-]/g, '').toUpperCase();
    if (MBI.test(plain)) return plain;
  }
  return blanks(value, ofCountry);
};

/** The common values of the type of a payer, by their letters. */
const payerTypes = new Map([
  ...['Private', 'Medicare', 'Medicaid', 'Tricare', 'Workers Compensation', 'Self-Pay'].map(
    (type): [string, string] => [lettersOf(type), type],
  ),
  ...['workerscomp', 'workercompensation', 'workmanscompensation', 'workmenscompensation'].map(
    (letters): [string, string] => [letters, 'Workers Compensation'],
  ),
]);

function lettersOf(value: string): string {
  return value.toLowerCase().replaceAll(/[^a-z]/g, '');
}

const payerType: Mend = (value, ofCountry) => payerTypes.get(lettersOf(value)) ?? blanks(value, ofCountry);

/** What is repaired: countries before what depends on them. */
const address: Record<string, Mend> = {
  country,
  state,
  zip_code: zipCode,
  address_line_1: text,
  address_line_2: text,
  city: text,
};
const person: Record<string, Mend> = { first_name: text, last_name: text };
const subscriber = Object.fromEntries(
  Object.entries({ ...address, ...person })
    .filter(([field]) => field !== 'address_line_2')
    .map(([field, mend]) => [`subscriber_${field}`, mend]),
);
const insurance: Record<string, Mend> = {
  policy_number: memberId,
  group_number: blanks,
  subscriber_id: memberId,
  ...subscriber,
};

const mends: Readonly<Record<string, Record<string, Mend>>> = {
  patient: { ...address, ...person },
  payer: {
    ...{ country, state, zip_code: zipCode, address_line1: text, address_line2: text, city: text },
    ...{ name: text, payer_code: blanks, payer_type: payerType },
  },
  provider: { ...address, ...person, taxonomy_code: upperCase, tax_id: taxId },
  facility: { ...address, name: text, tax_id: taxId, clia_number: upperCase },
};

const ranks = ['primary_insurance', 'secondary_insurance', 'tertiary_insurance'];

/**
 * Returns the fields of a record as a claim carries them, with what was repaired in them: case, dashes, blanks and spellings that
 * leave no doubt.
 */
export function repairedFields(
  kind: string,
  sent: RecordFields,
): { fields: RecordFields; repairs?: Repair[] } {
  const own = mends[kind];
  if (own === undefined) return { fields: sent };
  const repairs: Repair[] = [];
  const fields = repairedIn(sent, own, repairs, '') as RecordFields;
  if (kind !== 'patient') return repairs.length === 0 ? { fields } : { fields, repairs };
  const insurances = Object.fromEntries(
    ranks.flatMap((rank) => {
      const before = sent[rank] as Record<string, unknown> | undefined;
      return before === undefined ? [] : [[rank, repairedIn(before, insurance, repairs, `${rank}.`)]];
    }),
  );
  return repairs.length === 0 ? { fields } : { fields: { ...fields, ...insurances }, repairs };
}

/** Adds the repairs; returns the fields with them, or the same where there are none. */
function repairedIn(
  sent: Record<string, unknown>,
  own: Record<string, Mend>,
  repairs: Repair[],
  prefix: string,
): Record<string, unknown> {
  let fields = sent;
  const countryField = prefix === '' ? 'country' : 'subscriber_country';
  for (const field in own) {
    const from = fields[field];
    if (typeof from !== 'string') continue;
    const ofCountry = fields[countryField];
    const value = (own[field] as Mend)(from, typeof ofCountry === 'string' ? ofCountry : 'US');
    // What is only blank stays so: there is nothing to carry.
    if (value === from || value === '') continue;
    fields = { ...fields, [field]: value };
    repairs.push({ field: `${prefix}${field}`, from, value });
  }
  return fields;
}

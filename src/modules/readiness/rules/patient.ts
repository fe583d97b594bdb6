import { isUspsState } from '../../../domain/records/schema/states.ts';
import { countryCode, passes, zipCode } from '../../../domain/records/schema/validation.ts';
import { type BilledRecord, distinct, type Fault, missing, type Rule, textOf, wrong } from './rule.ts';

/** The code of the country of an address, by default the United States; undefined where what was sent is no country's. */
function countryOf(record: BilledRecord): string | undefined {
  return countryCode(textOf(record, 'country') ?? 'US');
}

const addressed = ['patient', 'provider', 'facility'];

/** What an address needs, by the codes of countries. */
const addressForms: Readonly<Record<string, (record: BilledRecord) => Fault[]>> = {
  US: (record) => [
    ...missing(
      record,
      ['address_line_1', 'city', 'state', 'zip_code'],
      'A claim needs street, city, state and ZIP code.',
    ),
    ...wrong(
      record,
      'state',
      (value) => isUspsState(value.trim().toUpperCase()),
      'USPS knows no such state.',
    ),
    ...wrong(
      record,
      'zip_code',
      // USPS has no 00000, no 99999, and no add-on 0000.
      (value) => passes(zipCode)(value) && !/^(?:00000|99999)|^\d{5}-?0000$/.test(value),
      'This is not a ZIP code, which has five or nine digits.',
    ),
  ],
  CA: (record) => [
    ...missing(
      record,
      ['address_line_1', 'city', 'state', 'zip_code'],
      'A claim needs street, city, province and postal code.',
    ),
    ...wrong(
      record,
      'state',
      (value) => provinces.has(value.trim().toUpperCase()),
      'Canada Post knows no such province.',
    ),
    ...wrong(
      record,
      'zip_code',
      (value) => /^[A-Z]\d[A-Z][ -]?\d[A-Z]\d$/i.test(value.trim()),
      'This is not a Canadian postal code, such as K1A 0B1.',
    ),
  ],
};

/** The provinces and territories (Canada Post, Addressing Guidelines). */
const provinces = new Set(['AB', 'BC', 'MB', 'NB', 'NL', 'NS', 'NT', 'NU', 'ON', 'PE', 'QC', 'SK', 'YT']);

/** Elsewhere, what stands for state and ZIP code differs, or there is nothing. */
const addressElsewhere = (record: BilledRecord) =>
  missing(record, ['address_line_1', 'city'], 'A claim needs street and city.');

const addressIncomplete: Rule = {
  code: 'address_incomplete',
  version: 2,
  severity: 'blocks',
  title: 'Patient, provider and facility have complete addresses',
  source: 'X12 005010X222A1 (837P), N3 and N4 of loops 2010AA, 2010BA and 2310C; USPS Publication 28',
  reads: addressed.flatMap((kind) =>
    ['address_line_1', 'city', 'state', 'zip_code', 'country'].map((field) => `${kind}.${field}`),
  ),
  check: ({ patient, provider, facility }) =>
    distinct(patient, provider, facility).flatMap((record) =>
      (addressForms[countryOf(record) ?? ''] ?? addressElsewhere)(record),
    ),
};

const countryUnknown: Rule = {
  code: 'country_code',
  severity: 'warns',
  title:
    'The country of an address is an ISO 3166-1 alpha-2 code, or a spelling of the United States or Canada',
  source: 'X12 005010X222A1 (837P), N404; ISO 3166-1',
  reads: addressed.map((kind) => `${kind}.country`),
  check: ({ patient, provider, facility }) =>
    distinct(patient, provider, facility).flatMap((record) =>
      wrong(
        record,
        'country',
        (value) => countryCode(value) !== undefined,
        'This is not a country code of two letters: without one, only street and city are checked.',
      ),
    ),
};

/** The states of three-digit ZIP code prefixes (USPS Domestic Mail Manual, L002), as ranges `first-last`; some are shared. */
const prefixes: Record<string, string> = {
  AL: '350-352 354-369',
  AK: '995-999',
  AZ: '850-853 855-857 859-860 863-865',
  AR: '716-729',
  CA: '900-908 910-928 930-961',
  CO: '800-816',
  CT: '060-069',
  DE: '197-199',
  DC: '200 202-205 569',
  FL: '320-339 341-342 344 346-347 349',
  GA: '300-319 398-399',
  HI: '967-968',
  ID: '832-838',
  IL: '600-620 622-629',
  IN: '460-479',
  IA: '500-516 520-528',
  KS: '660-662 664-679',
  KY: '400-418 420-427',
  LA: '700-701 703-708 710-714',
  ME: '039-049',
  MD: '206-212 214-219',
  MA: '010-027 055',
  MI: '480-499',
  MN: '550-551 553-567',
  MS: '386-397',
  MO: '630-631 633-641 644-658',
  MT: '590-599',
  NE: '680-681 683-693',
  NV: '889-891 893-895 897-898',
  NH: '030-038',
  NJ: '070-089',
  NM: '870-871 873-875 877-884',
  NY: '005 063 100-149',
  NC: '270-289',
  ND: '580-588',
  OH: '430-459',
  OK: '730-731 734-741 743-749',
  OR: '970-979',
  PA: '150-196',
  RI: '028-029',
  SC: '290-299',
  SD: '570-577',
  TN: '370-385',
  TX: '733 750-770 772-799 885',
  UT: '840-847',
  VT: '050-054 056-059',
  VA: '201 220-246',
  WA: '980-986 988-994',
  WV: '247-268',
  WI: '530-532 534-535 537-549',
  WY: '820-831 834',
  PR: '006-007 009',
  VI: '008',
  AS: '967',
  GU: '969',
  MP: '969',
  FM: '969',
  MH: '969',
  PW: '969',
  AA: '340',
  AE: '090-099',
  AP: '962-966',
};

const statesByPrefix = new Map<string, string[]>();
for (const [state, ranges] of Object.entries(prefixes)) {
  for (const range of ranges.split(' ')) {
    const [first = '', last = first] = range.split('-');
    for (let prefix = Number(first); prefix <= Number(last); prefix += 1) {
      const key = String(prefix).padStart(3, '0');
      statesByPrefix.set(key, [...(statesByPrefix.get(key) ?? []), state]);
    }
  }
}

/** The states, as USPS codes, that a ZIP code can belong to; none where its prefix is not in use. */
function statesOfZip(zipCode: string): readonly string[] {
  return statesByPrefix.get(zipCode.slice(0, 3)) ?? [];
}

const zipOfOtherState: Rule = {
  code: 'zip_of_other_state',
  version: 2,
  severity: 'warns',
  title: 'The ZIP code of an address belongs to its state',
  source: 'USPS Domestic Mail Manual, labeling list L002: three-digit ZIP code prefixes',
  reads: addressed.flatMap((kind) => [`${kind}.state`, `${kind}.zip_code`, `${kind}.country`]),
  check: ({ patient, provider, facility }) =>
    distinct(patient, provider, facility)
      .filter((record) => countryOf(record) === 'US')
      .flatMap((record) => {
        const states = statesOfZip(textOf(record, 'zip_code') ?? '');
        if (states.length === 0) return [];
        return wrong(
          record,
          'state',
          (state) => states.includes(state.trim().toUpperCase()),
          'The ZIP code belongs to another state.',
        );
      }),
};

const PO_BOX = /\b(?:P\.?\s*O\.?\s*B(?:OX)?|POST(?:AL)?\s+OFFICE\s+BOX|LOCK\s*BOX|PMB)\b/i;

const poBox: Rule = {
  code: 'po_box',
  severity: 'blocks',
  title: 'Provider and facility have a street address, not a post office box, a lockbox or a private mailbox',
  source: 'X12 005010X222A1 (837P), N301 of loops 2010AA and 2310C',
  reads: ['provider.address_line_1', 'facility.address_line_1'],
  check: ({ provider, facility }) =>
    distinct(provider, facility).flatMap((record) =>
      wrong(
        record,
        'address_line_1',
        (line) => !PO_BOX.test(line),
        'A claim needs the street where care is given.',
      ),
    ),
};

const zipPlusFour: Rule = {
  code: 'zip_plus_four',
  severity: 'warns',
  title: 'The ZIP codes of provider and facility have nine digits',
  source: 'X12 005010X222A1 (837P), N403 of loops 2010AA and 2310C',
  reads: ['provider', 'facility'].flatMap((kind) => [`${kind}.zip_code`, `${kind}.country`]),
  check: ({ provider, facility }) =>
    distinct(provider, facility)
      .filter((record) => countryOf(record) === 'US')
      .flatMap((record) =>
        wrong(
          record,
          'zip_code',
          (value) => !/^\d{5}$/.test(value),
          'Payers expect nine digits here: the clearinghouse may refuse five.',
        ),
      ),
};

const birthDate: Rule = {
  code: 'birth_date',
  severity: 'blocks',
  title: 'The patient was not born before 1900',
  source: 'X12 005010X222A1 (837P), loop 2010BA, DMG02',
  reads: ['patient.date_of_birth'],
  check: ({ patient }) =>
    wrong(
      patient,
      'date_of_birth',
      (value) => value >= '1900',
      'Nobody who was born then has a visit today.',
    ),
};

const genderMissing: Rule = {
  code: 'gender_missing',
  severity: 'warns',
  title: 'The gender of the patient is known',
  source: 'X12 005010X222A1 (837P), loops 2010BA and 2010CA, DMG03',
  reads: ['patient.gender'],
  check: ({ patient }) =>
    missing(patient, ['gender'], 'A claim states the gender, and some payers refuse an unknown one.'),
};

/** Rules about the patient, in the order in which a claim is filled in. */
export const patientRules: readonly Rule[] = [
  birthDate,
  genderMissing,
  addressIncomplete,
  zipOfOtherState,
  countryUnknown,
  poBox,
  zipPlusFour,
];

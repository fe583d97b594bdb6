import { isUspsState } from '../../../domain/records/schema/states.ts';
import { countryCode, passes, zipCode } from '../../../domain/records/schema/validation.ts';
import { billerOf, billingProviderOf } from './billingEntity.ts';
import {
  type BilledRecord,
  type BillingFacts,
  distinct,
  type Fault,
  missing,
  type Rule,
  type RuleSettings,
  textOf,
  wrong,
} from './rule.ts';

/** Returns the country of an address, by default the United States; not always a code. */
function countryOf(record: BilledRecord, prefix = ''): string {
  return textOf(record, `${prefix}country`) ?? 'US';
}

const addressed = ['patient', 'provider', 'facility'];

/** Returns the records whose addresses a claim carries. */
function addressedIn(facts: BillingFacts, settings: RuleSettings): BilledRecord[] {
  return distinct(facts.patient, billingProviderOf(facts, settings), facts.facility);
}

interface AddressForm {
  isState(value: string): boolean;
  noState: string;
  isZip(value: string): boolean;
  noZip: string;
  /** Why it has to be complete. */
  needed: string;
}

/** The provinces and territories (Canada Post, Addressing Guidelines). */
const provinces = new Set(['AB', 'BC', 'MB', 'NB', 'NL', 'NS', 'NT', 'NU', 'ON', 'PE', 'QC', 'SK', 'YT']);

/** By the codes of countries. Elsewhere, what stands for state and ZIP code differs, or there is nothing. */
const addressForms: Readonly<Record<string, AddressForm>> = {
  US: {
    isState: isUspsState,
    noState: 'USPS knows no such state.',
    // USPS has no 00000, no 99999, and no add-on 0000.
    isZip: (value) => passes(zipCode)(value) && !/^(?:00000|99999)|^\d{5}-?0000$/.test(value),
    noZip: 'This is not a ZIP code, which has five or nine digits.',
    needed: 'A claim needs street, city, state and ZIP code.',
  },
  CA: {
    isState: (value) => provinces.has(value),
    noState: 'Canada Post knows no such province.',
    isZip: (value) => /^[A-Z]\d[A-Z] \d[A-Z]\d$/.test(value),
    noZip: 'This is not a Canadian postal code, such as K1A 0B1.',
    needed: 'A claim needs street, city, province and postal code.',
  },
};

/** Returns what is malformed in the state and the ZIP code of an address; `prefix`: of the names of its fields. */
export function malformed(record: BilledRecord, prefix = ''): Fault[] {
  const form = addressForms[countryOf(record, prefix)];
  if (form === undefined) return [];
  return [
    ...wrong(record, `${prefix}state`, form.isState, form.noState),
    ...wrong(record, `${prefix}zip_code`, form.isZip, form.noZip),
  ];
}

const addressIncomplete: Rule = {
  code: 'address_incomplete',
  version: 3,
  severity: 'blocks',
  title: 'The patient, the facility, and a provider who bills have complete addresses',
  source: 'X12 005010X222A1 (837P), N3 and N4 of loops 2010AA, 2010BA and 2310C; USPS Publication 28',
  reads: addressed.flatMap((kind) =>
    ['address_line_1', 'city', 'state', 'zip_code', 'country'].map((field) => `${kind}.${field}`),
  ),
  check: (facts, settings) =>
    addressedIn(facts, settings).flatMap((record) => {
      const { needed } = addressForms[countryOf(record)] ?? {};
      return needed === undefined
        ? missing(record, ['address_line_1', 'city'], 'A claim needs street and city.')
        : [...missing(record, ['address_line_1', 'city', 'state', 'zip_code'], needed), ...malformed(record)];
    }),
};

const countryUnknown: Rule = {
  code: 'country_code',
  version: 2,
  severity: 'warns',
  title:
    'The country of an address is an ISO 3166-1 alpha-2 code, or a spelling of the United States or Canada',
  source: 'X12 005010X222A1 (837P), N404; ISO 3166-1',
  reads: addressed.map((kind) => `${kind}.country`),
  check: (facts, settings) => addressedIn(facts, settings).flatMap(countryFaults),
};

function countryFaults(record: BilledRecord): Fault[] {
  return wrong(
    record,
    'country',
    (value) => countryCode(value) !== undefined,
    'This is not a country code of two letters: without one, only street and city are checked.',
  );
}

const payerAddress: Rule = {
  code: 'payer_address',
  severity: 'warns',
  title: 'State, ZIP code and country of the payer of the primary insurance are well formed',
  source: 'X12 005010X222A1 (837P), loop 2010BB, N4; USPS Publication 28',
  reads: ['payer.state', 'payer.zip_code', 'payer.country'],
  check: ({ payer }) => (payer === undefined ? [] : [...malformed(payer), ...countryFaults(payer)]),
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
  version: 3,
  severity: 'warns',
  title: 'The ZIP code of an address belongs to its state',
  source: 'USPS Domestic Mail Manual, labeling list L002: three-digit ZIP code prefixes',
  reads: addressed.flatMap((kind) => [`${kind}.state`, `${kind}.zip_code`, `${kind}.country`]),
  check: (facts, settings) =>
    addressedIn(facts, settings)
      .filter((record) => countryOf(record) === 'US')
      .flatMap((record) => {
        const states = statesOfZip(textOf(record, 'zip_code') ?? '');
        if (states.length === 0) return [];
        return wrong(
          record,
          'state',
          (state) => states.includes(state),
          'The ZIP code belongs to another state.',
        );
      }),
};

const PO_BOX = /\b(?:P\.?\s*O\.?\s*B(?:OX)?|POST(?:AL)?\s+OFFICE\s+BOX|LOCK\s*BOX|PMB)\b/i;

const poBox: Rule = {
  code: 'po_box',
  version: 2,
  severity: 'blocks',
  title:
    'The facility, and a provider who bills, have a street address, not a post office box, a lockbox or a private mailbox',
  source: 'X12 005010X222A1 (837P), N301 of loops 2010AA and 2310C',
  reads: ['provider', 'facility'].flatMap((kind) => [`${kind}.address_line_1`, `${kind}.address_line_2`]),
  check: (facts, settings) =>
    distinct(billingProviderOf(facts, settings), facts.facility).flatMap((record) =>
      ['address_line_1', 'address_line_2'].flatMap((field) =>
        wrong(record, field, (line) => !PO_BOX.test(line), 'A claim needs the street where care is given.'),
      ),
    ),
};

function fiveDigits(record: BilledRecord | undefined, text: string): Fault[] {
  return record === undefined || countryOf(record) !== 'US'
    ? []
    : wrong(record, 'zip_code', (value) => !/^\d{5}$/.test(value), text);
}

const zipPlusFour: Rule = {
  code: 'zip_plus_four',
  version: 2,
  severity: 'warns',
  title: 'The ZIP code of the facility has nine digits, also where it is not set as the billing entity',
  source: 'X12 005010X222A1 (837P), N403 of loops 2010AA and 2310C',
  reads: ['facility.zip_code', 'facility.country'],
  check: (facts, settings) =>
    billerOf(facts, settings) === facts.facility
      ? []
      : fiveDigits(facts.facility, 'Payers expect nine digits here: the clearinghouse may refuse five.'),
};

const billingZip: Rule = {
  code: 'billing_zip',
  severity: 'blocks',
  title: 'The ZIP code of the facility or provider that is set as the billing entity has nine digits',
  source: 'X12 005010X222A1 (837P), loop 2010AA, N403',
  reads: ['provider', 'facility'].flatMap((kind) => [`${kind}.zip_code`, `${kind}.country`]),
  check: (facts, settings) =>
    fiveDigits(billerOf(facts, settings), 'A claim needs nine digits here: clearinghouses refuse five.'),
};

/** Rules about addresses, in the order in which a claim is filled in. */
export const addressRules: readonly Rule[] = [
  addressIncomplete,
  zipOfOtherState,
  countryUnknown,
  payerAddress,
  poBox,
  zipPlusFour,
  billingZip,
];

import { notSsn, passes } from '../../../domain/records/schema/validation.ts';
import { billingProviderOf } from './billingEntity.ts';
import {
  type BilledRecord,
  type BillingFacts,
  type Fault,
  missing,
  type Rank,
  type Rule,
  type RuleSettings,
  textOf,
  wrong,
} from './rule.ts';

/** What people and programs fill in where they have nothing. */
const stopgaps = new Set(
  'UNKNOWN,UNK,N/A,NONE,NOT AVAILABLE,NOT APPLICABLE,TBD,TBA,PENDING,UNDEFINED,SAMPLE'.split(','),
);
/** The same in a number; as names, people have them. */
const stopgapNumbers = new Set([...stopgaps, 'NA', 'NULL', 'SELF', 'SAME', 'TEST']);

const ASCENDING = '01234567890';

/** Whether a number of a member or payer is none that anybody gave out; characters of the format's own end the claim early. */
function isNoNumber(value: string): boolean {
  const text = value.toUpperCase();
  const characters = text.replaceAll(/[\s-]/g, '');
  return (
    stopgapNumbers.has(text) ||
    characters.length < 2 ||
    characters.length > 80 ||
    /^(.)\1+$/.test(characters) ||
    (characters.length > 4 && ASCENDING.includes(characters)) ||
    /[*~]/.test(characters)
  );
}

const NO_NUMBER = 'This is not a number that a payer has given out.';

const isNumber = (value: string) => !isNoNumber(value);

const numberFields = ['policy_number', 'subscriber_id'];

/** Returns a fault for each number of an insurance, or of its payer, that nobody gave out. */
export function numberFaults(
  rank: Rank,
  patient: BilledRecord | undefined,
  payer: BilledRecord | undefined,
): Fault[] {
  return [
    ...numberFields.flatMap((field) => wrong(patient, `${rank}.${field}`, isNumber, NO_NUMBER)),
    ...wrong(payer, 'payer_code', isNumber, NO_NUMBER),
  ];
}

const LONGEST_STOPGAP = Math.max(...[...stopgaps].map(({ length }) => length));

/** Whether a text has no letter or digit, or is what stands for nothing. */
function isStopgap(value: string): boolean {
  return (
    (value.length <= LONGEST_STOPGAP && stopgaps.has(value.toUpperCase())) ||
    /^X{2,}$/i.test(value) ||
    !/\w|[\p{L}\p{N}]/u.test(value)
  );
}

const person = ['first_name', 'last_name'];
const subscriber = person.map((field) => `primary_insurance.subscriber_${field}`);
const addressFields = ['address_line_1', 'city'];

/** The texts that stand in a claim: fields of its parts. */
const claimTexts = {
  patient: [...person, ...subscriber, ...addressFields],
  provider: person,
  billingProvider: addressFields,
  facility: ['name', ...addressFields],
  payer: ['name'],
};

/** A text of a claim. */
interface ClaimText {
  record: BilledRecord;
  field: string;
}

/** Finds what is wrong in the texts of a claim, or only in the names. */
function inTexts(facts: BillingFacts, settings: RuleSettings, find: (text: ClaimText) => Fault[]): Fault[] {
  const { patient, provider, renderingProvider, facility, payer } = facts;
  const of = (record: BilledRecord | undefined, fields: readonly string[]) =>
    record === undefined ? [] : fields.flatMap((field) => find({ record, field }));
  return [
    ...of(patient, claimTexts.patient),
    ...of(provider, claimTexts.provider),
    ...(renderingProvider === provider || renderingProvider?.id === provider?.id
      ? []
      : of(renderingProvider, claimTexts.provider)),
    ...of(billingProviderOf(facts, settings), claimTexts.billingProvider),
    ...of(facility, claimTexts.facility),
    ...of(payer, claimTexts.payer),
  ];
}

const textFields = Object.entries(claimTexts).flatMap(([part, fields]) =>
  fields.map((field) => `${part === 'billingProvider' ? 'provider' : part}.${field}`),
);

const isTestPerson = (record: BilledRecord) =>
  person.every((field) => textOf(record, field)?.toUpperCase() === 'TEST');

const placeholder: Rule = {
  code: 'placeholder',
  version: 2,
  severity: 'blocks',
  title: 'No name, address, member ID or payer ID is a placeholder, such as UNKNOWN, N/A or 123456789',
  source: 'X12 005010X222A1 (837P), NM103, NM104, NM109, N3 and N4',
  reads: [
    ...numberFields.map((field) => `patient.primary_insurance.${field}`),
    ...['payer.payer_code', ...textFields],
  ],
  check: (facts, settings) => [
    ...numberFaults('primary_insurance', facts.patient, facts.payer),
    ...inTexts(facts, settings, ({ record, field }) =>
      isBlank(record, field)
        ? missing(record, [field], 'A claim needs this name.')
        : wrong(
            record,
            field,
            (value) => !isStopgap(value) && !(person.includes(field) && isTestPerson(record)),
            'This says that something is not known, or stands for nothing.',
          ),
    ),
  ],
};

/** Whether a name that every record of its kind has is only blank. */
function isBlank(record: BilledRecord, field: string): boolean {
  const value = record.fields[field];
  return field.endsWith('name') && typeof value === 'string' && value.trim() === '';
}

const isNoSsn = (value: string) => !/[ -]/.test(value) || passes(notSsn)(value);

/** Returns a fault for each number of an insurance that is written as a Social Security number. */
export function ssnFaults(rank: Rank, patient: BilledRecord | undefined): Fault[] {
  const text = 'This looks like a Social Security number: payers expect the member ID of the card.';
  return numberFields.flatMap((field) => wrong(patient, `${rank}.${field}`, isNoSsn, text));
}

const memberIdIsSsn: Rule = {
  code: 'member_id_ssn',
  version: 2,
  severity: 'blocks',
  title: 'The member ID is not a Social Security number',
  source: 'CMS: Social Security numbers were removed from Medicare cards in 2018; 42 USC 405(c)(2)(C)(xiii)',
  reads: numberFields.map((field) => `patient.primary_insurance.${field}`),
  check: ({ patient }) => ssnFaults('primary_insurance', patient),
};

/** Returns a fault for each number of an insurance that has the digits of a Social Security number, and nothing else. */
export function likeSsnFaults(rank: Rank, patient: BilledRecord | undefined): Fault[] {
  const text = 'Some payers give out nine digits; but these may be a Social Security number.';
  const isOther = (value: string) => /[ -]/.test(value) || passes(notSsn)(value);
  return numberFields.flatMap((field) => wrong(patient, `${rank}.${field}`, isOther, text));
}

const memberIdMayBeSsn: Rule = {
  code: 'member_id_like_ssn',
  severity: 'warns',
  title: 'The member ID does not have nine digits that can be a Social Security number',
  source: memberIdIsSsn.source,
  reads: memberIdIsSsn.reads,
  check: ({ patient }) => likeSsnFaults('primary_insurance', patient),
};

/** X12 bounds of NM103 and NM104 (837P). */
const LAST_NAME_LENGTH = 60;
const FIRST_NAME_LENGTH = 35;

/** Letters of other scripts cannot be sent in the basic and extended character sets of X12; accents are left out by who sends. */
const CARRIED = /^(?:[\x20-\x7e]*|[\p{Script=Latin}\p{M}\x20-\x7e]*)$/u;

/** Returns what keeps a name from being sent; undefined where nothing does. */
function nameProblem(value: string, field: string): string | undefined {
  const isFirst = field.endsWith('first_name');
  const longest = isFirst ? FIRST_NAME_LENGTH : LAST_NAME_LENGTH;
  if (value.length > longest) return `A claim has room for ${longest} characters.`;
  if (!CARRIED.test(value)) return 'A claim cannot carry these letters.';
  const isOfPerson = isFirst || field.endsWith('last_name');
  return isOfPerson && /\d/.test(value) ? 'The name of a person has no digits.' : undefined;
}

const nameForm: Rule = {
  code: 'name_form',
  version: 2,
  severity: 'warns',
  title:
    'Names fit into a claim: 60 characters, 35 for first names, Latin letters, and no digits in the name of a person',
  source: 'X12 005010X222A1 (837P), NM103 and NM104; X12.5, basic and extended character sets',
  reads: textFields.filter((field) => field.endsWith('name')),
  check: (facts, settings) =>
    inTexts(facts, settings, ({ record, field }) => {
      const value = field.endsWith('name') ? textOf(record, field) : undefined;
      const text = value === undefined ? undefined : nameProblem(value, field);
      return text === undefined ? [] : [{ record, field, text }];
    }),
};

/** Rules about values that stand for nothing, in the order in which a claim is filled in. */
export const placeholderRules: readonly Rule[] = [placeholder, memberIdIsSsn, memberIdMayBeSsn, nameForm];

import { notSsn, passes } from '../../../domain/records/schema/validation.ts';
import {
  type BilledRecord,
  type BillingFacts,
  distinct,
  type Fault,
  type Rule,
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

const plain = (value: string) => value.trim().toUpperCase().replaceAll(/\s+/g, ' ');

/** Whether a number of a member or payer is none that anybody gave out; characters of the format's own end the claim early. */
function isNoNumber(value: string): boolean {
  const text = plain(value);
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

const LONGEST_STOPGAP = Math.max(...[...stopgaps].map(({ length }) => length));

/** Whether a text has no letter or digit, or is what stands for nothing. */
function isStopgap(value: string): boolean {
  return (
    (value.length <= LONGEST_STOPGAP && stopgaps.has(plain(value))) ||
    /^X{2,}$/i.test(value) ||
    !/\w|[\p{L}\p{N}]/u.test(value)
  );
}

const ranks = ['primary_insurance', 'secondary_insurance', 'tertiary_insurance'] as const;
const numberFields = ranks.flatMap((rank) => [`${rank}.policy_number`, `${rank}.subscriber_id`]);
const addressFields = ['address_line_1', 'city'];
const personFields = ['first_name', 'last_name'];
const subscriberNames = ['primary_insurance.subscriber_first_name', 'primary_insurance.subscriber_last_name'];

const NO_NUMBER = 'This is not a number that a payer has given out.';

/** The parts of a claim whose texts stand in it, with the fields that do. */
function textsIn({
  patient,
  provider,
  renderingProvider,
  facility,
  payer,
}: BillingFacts): [BilledRecord, string[]][] {
  const of = (records: BilledRecord[], fields: string[]) =>
    records.map((record): [BilledRecord, string[]] => [record, fields]);
  return [
    ...of(distinct(patient), [...personFields, ...subscriberNames, ...addressFields]),
    ...of(distinct(provider, renderingProvider), [...personFields, ...addressFields]),
    ...of(distinct(facility), ['name', ...addressFields]),
    ...of(distinct(payer), ['name']),
  ];
}

const textFields = [
  ...[...personFields, ...subscriberNames, ...addressFields].map((field) => `patient.${field}`),
  ...[...personFields, ...addressFields].map((field) => `provider.${field}`),
  ...['name', ...addressFields].map((field) => `facility.${field}`),
  'payer.name',
];

const placeholder: Rule = {
  code: 'placeholder',
  severity: 'blocks',
  title: 'No name, address, member ID or payer ID is a placeholder, such as UNKNOWN, N/A or 123456789',
  source: 'X12 005010X222A1 (837P), NM103, NM104, NM109, N3 and N4',
  reads: [...numberFields.map((field) => `patient.${field}`), 'payer.payer_code', ...textFields],
  check(facts) {
    const { patient, payer } = facts;
    const numbers: Fault[] = [
      ...numberFields.flatMap((field) => wrong(patient, field, (value) => !isNoNumber(value), NO_NUMBER)),
      ...wrong(payer, 'payer_code', (value) => !isNoNumber(value), NO_NUMBER),
    ];
    const texts = textsIn(facts).flatMap(([record, fields]) => {
      const isTest = personFields.every((field) => plain(textOf(record, field) ?? '') === 'TEST');
      return fields.flatMap((field) =>
        wrong(
          record,
          field,
          (value) => !isStopgap(value) && !(isTest && personFields.includes(field)),
          'This says that something is not known, or stands for nothing.',
        ),
      );
    });
    return [...numbers, ...texts];
  },
};

const memberIdIsSsn: Rule = {
  code: 'member_id_ssn',
  severity: 'blocks',
  title: 'The member ID is not a Social Security number',
  source: 'CMS: Social Security numbers were removed from Medicare cards in 2018; 42 USC 405(c)(2)(C)(xiii)',
  reads: ['patient.primary_insurance.policy_number'],
  check: ({ patient }) =>
    wrong(
      patient,
      'primary_insurance.policy_number',
      (value) => !value.includes('-') || passes(notSsn)(value),
      'This looks like a Social Security number: payers expect the member ID of the card.',
    ),
};

/** X12 bounds of NM103 and NM104 (837P). */
const LAST_NAME_LENGTH = 60;
const FIRST_NAME_LENGTH = 35;

/** Letters of other scripts cannot be sent in the basic and extended character sets of X12; accents are left out by who sends. */
const CARRIED = /^(?:[\x20-\x7e]*|[\p{Script=Latin}\p{M}\x20-\x7e‘’]*)$/u;

const nameForm: Rule = {
  code: 'name_form',
  severity: 'warns',
  title:
    'Names fit into a claim: 60 characters, 35 for first names, Latin letters, and no digits in the name of a person',
  source: 'X12 005010X222A1 (837P), NM103 and NM104; X12.5, basic and extended character sets',
  reads: textFields.filter((field) => field.endsWith('name')),
  check: (facts) =>
    textsIn(facts).flatMap(([record, fields]) =>
      fields
        .filter((field) => field.endsWith('name'))
        .flatMap((field) => {
          const isFirst = field.endsWith('first_name');
          const isOfPerson = isFirst || field.endsWith('last_name');
          const longest = isFirst ? FIRST_NAME_LENGTH : LAST_NAME_LENGTH;
          return [
            ...wrong(
              record,
              field,
              (value) => value.length <= longest,
              `A claim has room for ${longest} characters.`,
            ),
            ...wrong(record, field, (value) => CARRIED.test(value), 'A claim cannot carry these letters.'),
            ...wrong(
              record,
              field,
              (value) => !isOfPerson || !/\d/.test(value),
              'The name of a person has no digits.',
            ),
          ].slice(0, 1);
        }),
    ),
};

/** Rules about values that stand for nothing, in the order in which a claim is filled in. */
export const placeholderRules: readonly Rule[] = [placeholder, memberIdIsSsn, nameForm];

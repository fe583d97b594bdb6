/** What a message of an event does. */
export type Action =
  | ('acknowledge' | 'person' | 'begin' | 'plan' | 'change' | 'admit' | 'release' | 'update')
  | ('end' | 'reopen' | 'cancel' | 'cancelPlanned' | 'delete' | 'deletePerson')
  | ('mergePatients' | 'mergeAccounts' | 'mergePatientsAndAccounts' | 'mergeVisits' | 'mergeAlternateVisits')
  | ('moveAccount' | 'moveVisit')
  | ('book' | 'reschedule' | 'modify' | 'cancelAppointment' | 'charge' | 'account' | 'closeAccount')
  | ('document' | 'documentStatus' | 'replaceDocument' | 'replacedDocument' | 'cancelDocument')
  | ('practitioners' | 'locations');

/** Events that do the same. */
export interface EventRow {
  /** MSH-9, first component. */
  type: string;
  /** MSH-9, second component. */
  events: readonly string[];
  /** What HL7 calls them, in short. */
  title: string;
  action: Action;
  /** What becomes of a message, as worded in the guide. */
  becomes: string;
}

const VOID = '[void](check-readiness.md#void-an-encounter)';
const MERGED = '[is merged](send-from-an-emr.md#merge-patients)';
const UNLESS_BEGUN = 'unless it has begun';

type Row = [type: string, events: string, title: string, action: Action, becomes: string];

const rows: Row[] = [
  [
    'ADT',
    'A01 A04',
    'admit, register',
    'begin',
    'the patient with insurances; the encounter, `in-progress`, and not void if it was; a completed one stays so, unless PV1-44 is another time',
  ],
  [
    'ADT',
    'A05 A14',
    'pre-admit, pending admit',
    'plan',
    `the patient with insurances; the encounter, \`planned\`, and not void if it was; ${UNLESS_BEGUN}`,
  ],
  [
    'ADT',
    'A02 A12 A17 A54 A55 A61 A62',
    'transfer, swap, change of doctor',
    'change',
    'the encounter without its `status`: where it is, and who attends; A17 has two',
  ],
  [
    'ADT',
    'A06',
    'outpatient becomes inpatient',
    'admit',
    'as A08; the encounter is `inpatient`, unless PV1-2 says otherwise; a former number (MRG) is merged as in A40 and A42',
  ],
  ['ADT', 'A07', 'inpatient becomes outpatient', 'release', 'as A06; the encounter is `outpatient`'],
  ['ADT', 'A03', 'discharge', 'end', 'the encounter, `finished` and `is_completed`'],
  ['ADT', 'A13', 'cancel discharge', 'reopen', 'the encounter, `in-progress` and not `is_completed`'],
  [
    'ADT',
    'A08',
    'update',
    'update',
    'the patient with insurances; the encounter, if the message names one, without its `status`',
  ],
  [
    'ADT',
    'A11',
    'cancel admit',
    'cancel',
    `the encounter is ${VOID}: \`voided_at\` from EVN-2, else MSH-7; \`void_reason\` from EVN-4`,
  ],
  [
    'ADT',
    'A27 A38',
    'cancel pending admit or pre-admit',
    'cancelPlanned',
    `the encounter is void, ${UNLESS_BEGUN}`,
  ],
  ['ADT', 'A23', 'delete visit', 'delete', 'the encounter is void; nothing is erased'],
  ['ADT', 'A28 A31', 'add, update person', 'person', 'the patient with insurances'],
  [
    'ADT',
    'A29',
    'delete person',
    'deletePerson',
    'all encounters of the patient are void; nothing is erased',
  ],
  [
    'ADT',
    'A18 A30 A34 A39 A40 A47',
    'merge patients, change their ids',
    'mergePatients',
    `the patient of each MRG ${MERGED} into the one of the PID before it`,
  ],
  [
    'ADT',
    'A35 A41 A49',
    'merge accounts, change their numbers',
    'mergeAccounts',
    'if the account number is the id of encounters: the one of MRG-3 is void, and goes on as the one of PID-18',
  ],
  ['ADT', 'A36', 'merge patients and accounts', 'mergePatientsAndAccounts', 'as A40 and A41'],
  [
    'ADT',
    'A42 A50',
    'merge visits, change their numbers',
    'mergeVisits',
    'the encounter of MRG-5 is void, and goes on as the one of PV1-19',
  ],
  [
    'ADT',
    'A51',
    'change alternate visit ids',
    'mergeAlternateVisits',
    'the same with MRG-6 and PV1-50, if that is the id of encounters',
  ],
  [
    'ADT',
    'A44',
    'move account',
    'moveAccount',
    'if the account number is the id of encounters: the one of PID-18 is of the patient of PID-3',
  ],
  ['ADT', 'A45', 'move visits', 'moveVisit', 'the encounter of each PV1 is of the patient of PID-3'],
  [
    'ADT',
    'A09 A10 A15 A16 A20 A21 A22 A24 A25 A26 A32 A33 A37 A43 A46 A48 A52 A53 A60',
    'tracking, pending transfers and discharges, beds, leave of absence, links, other ids, allergies',
    'acknowledge',
    'nothing: acknowledged',
  ],
  [
    'SIU',
    'S12',
    'book',
    'book',
    `the encounter, \`planned\`, if the message names one, and not void if it was; ${UNLESS_BEGUN}`,
  ],
  ['SIU', 'S13', 'reschedule', 'reschedule', `the encounter, \`planned\`, ${UNLESS_BEGUN}`],
  [
    'SIU',
    'S14 S18 S19',
    'modify, add or modify a service',
    'modify',
    `the encounter without its \`status\`, ${UNLESS_BEGUN}`,
  ],
  [
    'SIU',
    'S15 S16 S17 S26',
    'cancel, discontinue, delete, no-show',
    'cancelAppointment',
    `the encounter is void, ${UNLESS_BEGUN}; \`void_reason\` from SCH-6`,
  ],
  ['SIU', 'S20 S21 S22 S23 S24 S25', 'cancel a service, block time', 'acknowledge', 'nothing: acknowledged'],
  [
    'DFT',
    'P03 P11',
    'charges',
    'charge',
    'the patient with insurances; of the encounter, who performed the service (FT1-20)',
  ],
  [
    'BAR',
    'P01 P05',
    'add, update account',
    'account',
    'the patient with insurances; the encounter of each PV1, if it names one, without its `status`',
  ],
  ['BAR', 'P06', 'end account', 'closeAccount', 'the encounter, `is_completed`: no more charges accrue'],
  ['BAR', 'P02 P10 P12', 'purge accounts, codes', 'acknowledge', 'nothing: acknowledged'],
  [
    'MDM',
    'T02 T06 T08',
    'document, addendum, edit',
    'document',
    'the document of the encounter, PDF or DOCX, in base64 in OBX-5 (ED)',
  ],
  ['MDM', 'T10', 'replacement', 'replaceDocument', 'the same; the document of TXA-13 is removed'],
  ['MDM', 'T09', 'notice of replacement', 'replacedDocument', 'the document of TXA-13 is removed'],
  [
    'MDM',
    'T03 T04',
    'status',
    'documentStatus',
    'the document is removed if TXA-19 is `CA` or `OB`; else it is stored if T04 contains it',
  ],
  ['MDM', 'T11', 'cancel', 'cancelDocument', 'the document is removed'],
  ['MDM', 'T01 T05 T07', 'notices without content', 'acknowledge', 'nothing: acknowledged'],
  ['MFN', 'M02', 'staff', 'practitioners', 'the provider of each STF and PRA; none is removed'],
  ['MFN', 'M05', 'locations', 'locations', 'the facility of each LOC; none is removed'],
];

/** The supported events, with what becomes of their messages. All others are refused with `AR`. */
export const eventRows: readonly EventRow[] = rows.map(([type, events, title, action, becomes]) => ({
  ...{ type, title, action, becomes },
  events: events.split(' '),
}));

/** The actions of the supported events, by the type of their messages. */
export const actionsOf: ReadonlyMap<string, ReadonlyMap<string, Action>> = new Map(
  [...Map.groupBy(eventRows, ({ type }) => type)].map(([type, rows]) => [
    type,
    new Map(rows.flatMap(({ events, action }) => events.map((event) => [event, action] as const))),
  ]),
);

/** Returns the supported events as one text: `ADT A01, A02; SIU S12`. */
export function eventsText(): string {
  return [...actionsOf]
    .map(([type, events]) => `${type} ${[...events.keys()].toSorted().join(', ')}`)
    .join('; ');
}

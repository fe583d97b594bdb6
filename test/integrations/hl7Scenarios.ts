import type { SourceInput } from '../../src/modules/integrations/sources.ts';
import { hl7Message } from './hl7Messages.ts';

/** Messages that arrive one after another, and what the last one leads to. */
interface Scenario {
  /** Settings of their source. */
  source?: Partial<SourceInput>;
  /** Those before it. */
  before?: string[];
  message: string;
  /** The events that it appends, in any order. */
  appended: string[];
  /** Some fields of records after it, by their paths; undefined: there is no such field, or record. */
  after?: Record<string, Record<string, unknown> | undefined>;
}

/** The first arrives as it should; the others out of order. */
type Scenarios = [Scenario, ...Scenario[]];

type Fields = Record<number, string>;
type Segment = [name: string, fields: Fields];

const AT = '20260315080000+0000';
const START = '20260314093000-0500';

let count = 0;

function message(kind: string, ...segments: Segment[]): string {
  count += 1;
  return hl7Message(kind, [['EVN', { 2: AT }], ...segments], { 10: `C-${count}` });
}

const person = (id = 'P-1', fields: Fields = {}): Segment => [
  'PID',
  { 3: id, 5: 'Rivera^Beatriz', 7: '19840229', ...fields },
];
const only = (id = 'P-1', fields: Fields = {}): Segment => ['PID', { 3: id, ...fields }];
const visit = (fields: Fields = {}): Segment => ['PV1', { 2: 'O', 19: 'V-1', ...fields }];
const former = (fields: Fields): Segment => ['MRG', { 1: 'P-1', ...fields }];
const insured: Segment = ['IN1', { 1: '1', 3: 'payer-1', 4: 'Aetna', 36: 'W1' }];

const registered = (id = 'P-1', ...more: Segment[]) => message('ADT^A28', person(id), ...more);
const admitted = (fields: Fields = {}, pid: Fields = {}) =>
  message('ADT^A01', person('P-1', pid), visit({ 44: START, ...fields }));
const discharged = () => message('ADT^A03', person(), visit({ 44: START }));
const preadmitted = () => message('ADT^A05', person(), visit());
const cancelled = () => message('ADT^A11', person(), visit());

const patientAt = (id: string) => `/integration/patients/${id}`;
const visitAt = (id: string) => `/integration/encounters/${id}`;
const upserted = (kind: string, id: string) =>
  `${kind}-${id}: ${kind[0]?.toUpperCase()}${kind.slice(1)}Upserted`;
const [P1, P2, V1, V2] = [
  ...[upserted('patient', 'P-1'), upserted('patient', 'P-2')],
  ...[upserted('encounter', 'V-1'), upserted('encounter', 'V-2')],
] as [string, string, string, string];

const inProgress = { status: 'in-progress', is_completed: false };
const finished = { status: 'finished', is_completed: true };
const planned = { status: 'planned', is_completed: false };
const valid = { voided_at: undefined };
const isVoid = (void_reason: string) => ({ voided_at: '2026-03-15T08:00:00Z', void_reason });
const ofVisit = (fields: object) => ({ [visitAt('V-1')]: fields as Record<string, unknown> });

/** Its message begins a visit. */
function begins(kind: string): Scenarios {
  const sent = () => message(kind, person(), visit({ 44: START }));
  return [
    { message: sent(), appended: [P1, V1], after: ofVisit(inProgress) },
    { before: [preadmitted()], message: sent(), appended: [V1], after: ofVisit(inProgress) },
    { before: [cancelled()], message: sent(), appended: [V1], after: ofVisit({ ...inProgress, ...valid }) },
    { before: [discharged()], message: sent(), appended: [], after: ofVisit(finished) },
    {
      before: [discharged()],
      message: message(kind, person(), visit({ 44: '20260314' })),
      appended: [V1],
      after: ofVisit(finished),
    },
    {
      before: [discharged()],
      message: message(kind, person(), visit({ 44: '20260401080000-0500' })),
      appended: [V1],
      after: ofVisit(inProgress),
    },
    { message: message(kind, person(), ['PV1', { 2: 'O' }]), appended: [P1] },
  ];
}

/** Its message plans a visit. */
function plans(kind: string): Scenarios {
  const sent = () => message(kind, person(), visit());
  return [
    { message: sent(), appended: [P1, V1], after: ofVisit(planned) },
    { before: [cancelled()], message: sent(), appended: [V1], after: ofVisit({ ...planned, ...valid }) },
    { before: [admitted()], message: sent(), appended: [], after: ofVisit(inProgress) },
    { before: [discharged()], message: sent(), appended: [], after: ofVisit(finished) },
  ];
}

/** Its message changes a visit. */
function changes(kind: string, fields: Fields, after: object): Scenarios {
  const sent = () => message(kind, only(), visit(fields));
  return [
    {
      before: [admitted()],
      message: sent(),
      appended: [V1],
      after: ofVisit({ ...inProgress, ...after }),
    },
    { before: [registered()], message: sent(), appended: [V1], after: ofVisit(after) },
  ];
}

/** Its message voids a visit. */
function voids(kind: string, reason: string): Scenarios {
  const after = isVoid(`${reason} (${kind.slice(-3)})`);
  return [
    { before: [admitted()], message: message(kind, only(), visit()), appended: [V1], after: ofVisit(after) },
    { message: message(kind, person(), visit()), appended: [P1, V1], after: ofVisit(after) },
  ];
}

/** Its message voids what is only planned. */
function voidsPlanned(kind: string): Scenarios {
  const sent = () => message(kind, only(), visit());
  const after = isVoid(`Cancelled (${kind.slice(-3)})`);
  return [
    { before: [preadmitted()], message: sent(), appended: [V1], after: ofVisit(after) },
    { before: [registered()], message: sent(), appended: [V1], after: ofVisit(after) },
    { before: [admitted()], message: sent(), appended: [], after: ofVisit({ ...inProgress, ...valid }) },
  ];
}

/** Its message updates the patient, and the visit. */
function updates(kind: string): Scenarios {
  const sent = (pv1: Fields) => message(kind, person('P-1', { 8: 'F' }), ['PV1', pv1]);
  const after = { [patientAt('P-1')]: { gender: 'female' } };
  const stay = { 2: 'E', 19: 'V-1' };
  return [
    {
      before: [admitted()],
      message: sent(stay),
      appended: [P1, V1],
      after: { ...after, ...ofVisit(inProgress) },
    },
    { message: sent(stay), appended: [P1, V1], after: { ...after, ...ofVisit({ visit_type: 'emergency' }) } },
    { message: sent({ 2: 'E' }), appended: [P1], after },
  ];
}

/** Its message is about the person alone. */
function describes(kind: string): Scenarios {
  const sent = () => message(kind, person('P-1', { 8: 'F' }), visit());
  return [
    {
      message: sent(),
      appended: [P1],
      after: { [patientAt('P-1')]: { gender: 'female' }, [visitAt('V-1')]: undefined },
    },
    { before: [admitted()], message: sent(), appended: [P1], after: ofVisit(inProgress) },
  ];
}

/** Its message merges P-2 into P-1. */
function mergesPatients(kind: string): Scenarios {
  const sent = (pid = only()) => message(kind, pid, ['MRG', { 1: 'P-2' }]);
  const merged = { [patientAt('P-2')]: { merged_into: 'P-1' } };
  return [
    { before: [registered(), registered('P-2')], message: sent(), appended: [P2], after: merged },
    { message: sent(person()), appended: [P1, P2], after: merged },
    {
      before: [registered('P-2', insured)],
      message: sent(),
      appended: [P1, P2],
      after: {
        ...merged,
        [patientAt('P-1')]: {
          last_name: 'Rivera',
          primary_insurance: { payer_id: 'payer-1', policy_number: 'W1' },
        },
      },
    },
    {
      before: [registered(), registered('P-2'), message(kind, only('P-2'), ['MRG', { 1: 'P-1' }])],
      message: sent(),
      appended: [P1, P2],
      after: { ...merged, [patientAt('P-1')]: { merged_into: undefined } },
    },
  ];
}

interface Numbers {
  source?: Partial<SourceInput>;
  /** How the visit V-2, and how the visit V-1 and its former number V-2 are named. */
  before: [pid: Fields, pv1: Fields];
  sent: [pid: Fields, mrg: Fields, pv1: Fields];
}

const byVisit: Numbers = { before: [{}, { 19: 'V-2' }], sent: [{}, { 5: 'V-2' }, { 19: 'V-1' }] };
const byAccount: Numbers = {
  source: { visit_from: ['PID-18', 'PV1-19'] },
  ...{ before: [{ 18: 'V-2' }, {}], sent: [{ 18: 'V-1' }, { 3: 'V-2' }, {}] },
};
const byAlternate: Numbers = {
  source: { visit_from: ['PV1-50'] },
  ...{ before: [{}, { 50: 'V-2' }], sent: [{}, { 6: 'V-2' }, { 50: 'V-1' }] },
};

/** Its message merges the visit V-2 into V-1. */
function mergesVisits(kind: string, { source = {}, before, sent }: Numbers, mrg: Fields = {}): Scenarios {
  const [pid, numbers, pv1] = sent;
  const merge = (names: Segment = only('P-1', pid)) =>
    message(kind, names, former({ ...numbers, ...mrg }), ['PV1', { 2: 'O', ...pv1 }]);
  const begun = message('ADT^A01', person('P-1', before[0]), ['PV1', { 2: 'I', 44: START, ...before[1] }]);
  const void2 = { [visitAt('V-2')]: isVoid(`Merged (${kind.slice(-3)})`) };
  return [
    {
      ...{ source, before: [begun], message: merge(), appended: [V1, V1, V2] },
      after: {
        ...void2,
        ...ofVisit({ ...inProgress, date_of_service: '2026-03-14T09:30:00-05:00', ...valid }),
      },
    },
    {
      ...{ source, before: [registered()], message: merge(), appended: [V1, V2] },
      after: { ...void2, ...ofVisit(valid) },
    },
  ];
}

/** Its message has nothing for billing, whatever came before. */
function nothing(kind: string): Scenarios {
  const sent = () => message(kind, only(), visit({ 3: 'ELSEWHERE^^^OTHER' }));
  return [
    { before: [admitted()], message: sent(), appended: [], after: ofVisit(inProgress) },
    { message: sent(), appended: [] },
  ];
}

const booked = () => message('SIU^S12', person(), visit());

/** Its message is about an appointment. */
function appoints(kind: string, after: object): Scenarios {
  const sent = () => message(kind, person(), visit(), ['AIS', { 4: START }]);
  const at = { date_of_service: '2026-03-14T09:30:00-05:00' };
  return [
    { before: [booked()], message: sent(), appended: [V1], after: ofVisit({ ...planned, ...at }) },
    { message: sent(), appended: [P1, V1], after: ofVisit({ ...after, ...at }) },
    { before: [discharged()], message: sent(), appended: [], after: ofVisit(finished) },
  ];
}

function cancelsAppointment(kind: string): Scenarios {
  const sent = () => message(kind, person(), visit());
  const after = isVoid(`Cancelled (${kind.slice(-3)})`);
  return [
    { before: [booked()], message: sent(), appended: [V1], after: ofVisit(after) },
    { message: sent(), appended: [P1, V1], after: ofVisit(after) },
    { before: [admitted()], message: sent(), appended: [], after: ofVisit(inProgress) },
  ];
}

const performed: Segment = ['FT1', { 20: 'D-9^Osei^Kofi' }];

/** Its message has charges. */
function charges(kind: string): Scenarios {
  const D9 = upserted('provider', 'D-9');
  const after = { rendering_provider_id: 'D-9' };
  const sent = (pid: Segment) => message(kind, pid, visit(), performed);
  return [
    {
      before: [discharged()],
      message: sent(only()),
      appended: [D9, V1],
      after: ofVisit({ ...finished, ...after }),
    },
    { message: sent(person()), appended: [P1, D9, V1], after: ofVisit(after) },
  ];
}

/** Its message is about the accounts of a patient. */
function accounts(kind: string): Scenarios {
  const sent = () => message(kind, person(), visit(), insured, visit({ 19: 'V-2' }));
  const insurance = {
    [patientAt('P-1')]: { primary_insurance: { payer_id: 'payer-1', policy_number: 'W1' } },
  };
  const payer = upserted('payer', 'payer-1');
  return [
    {
      before: [admitted({ 2: 'O' })],
      message: sent(),
      appended: [payer, P1, V2],
      after: { ...insurance, ...ofVisit(inProgress) },
    },
    { message: sent(), appended: [payer, P1, V1, V2], after: insurance },
  ];
}

const DOC = 'document-V-1%2FDOC-1';
const documentAt = (id: string) => `/integration/encounters/V-1/documents/${id}`;
const pdf = Buffer.from('%PDF-1.4\n%%EOF\n').toString('base64');
const file: Segment = ['OBX', { 2: 'ED', 5: `^^PDF^Base64^${pdf}` }];
const named = (fields: Fields = {}): Segment => ['TXA', { 2: 'DS', 12: 'DOC-1', ...fields }];
const transcribed = () => message('MDM^T02', only(), visit(), named(), file);

/** Its message brings a document. */
function documents(kind: string, fields: Fields = {}): Scenarios {
  const sent = (pid: Segment) => message(kind, pid, visit(), named(fields), file);
  return [
    { before: [admitted()], message: sent(only()), appended: [`${DOC}: DocumentUploaded`] },
    { message: sent(person()), appended: [P1, V1, `${DOC}: DocumentUploaded`] },
    { before: [admitted(), transcribed()], message: sent(only()), appended: [] },
  ];
}

/** Its message brings a document in place of another one. */
function replaces(kind: string): Scenarios {
  const sent = () => message(kind, only(), visit(), named({ 12: 'DOC-2', 13: 'DOC-1' }), file);
  const uploaded = 'document-V-1%2FDOC-2: DocumentUploaded';
  const after = { [documentAt('DOC-1')]: undefined };
  return [
    {
      before: [admitted(), transcribed()],
      message: sent(),
      appended: [uploaded, `${DOC}: DocumentRemoved`],
      after,
    },
    { before: [admitted()], message: sent(), appended: [uploaded] },
  ];
}

/** Its message withdraws a document. */
function withdraws(kind: string, fields: Fields = {}): Scenarios {
  const sent = () => message(kind, only(), visit(), named(fields));
  return [
    {
      ...{ before: [admitted(), transcribed()], message: sent(), appended: [`${DOC}: DocumentRemoved`] },
      after: { [documentAt('DOC-1')]: undefined },
    },
    { before: [admitted()], message: sent(), appended: [] },
    { message: sent(), appended: [] },
  ];
}

function staff(kind: string): Scenarios {
  const entry: Segment[] = [
    ['MFI', { 1: 'PRA' }],
    ['MFE', { 1: 'MUP', 4: 'D-9' }],
    ['STF', { 1: 'D-9', 3: 'Osei^Kofi', 10: '^^PH^^^402^5550100' }],
    ['PRA', { 1: 'D-9', 5: 'Surgery', 6: '1093817465^NPI' }],
  ];
  const after = {
    '/integration/providers/D-9': { last_name: 'Osei', npi: '1093817465', specialty: 'Surgery' },
  };
  const ending = message(kind, ['MFI', { 1: 'PRA' }], ['MFE', { 1: 'MDL', 4: 'D-9' }], ['STF', { 1: 'D-9' }]);
  const D9 = upserted('provider', 'D-9');
  const seen = message('ADT^A01', person(), visit({ 7: 'D-9^Osei^K' }));
  return [
    { message: message(kind, ...entry), appended: [D9], after },
    { before: [seen], message: message(kind, ...entry), appended: [D9], after },
    {
      before: [seen],
      message: ending,
      appended: [],
      after: { '/integration/providers/D-9': { first_name: 'K' } },
    },
  ];
}

function places(kind: string): Scenarios {
  const entry = (loc: Fields): Segment[] => [
    ['MFE', { 1: 'MAD', 4: 'MAIN' }],
    ['LOC', loc],
  ];
  const main = entry({ 1: '^^^MAIN', 2: 'Main Campus', 5: '1 Main St^^Omaha^NE^68102' });
  const room = entry({ 1: '4A^201^^MAIN', 2: 'Room 201' });
  const after = { '/integration/facilities/MAIN': { name: 'Main Campus', city: 'Omaha' } };
  const MAIN = 'facility-MAIN: FacilityUpserted';
  const seen = message('ADT^A01', person(), visit({ 3: '4A^201^1^MAIN' }));
  return [
    { message: message(kind, ...main, ...room), appended: [MAIN], after },
    { before: [seen], message: message(kind, ...room, ...main), appended: [MAIN], after },
    { message: message(kind, ...room), appended: [] },
  ];
}

const moved = { 3: '^^^WARD' };
const isThere = { facility_id: 'WARD' };
const WARD = 'facility-WARD: FacilityUpserted';

/** A change of place, which also brings the facility. */
function transfers(kind: string): Scenarios {
  return changes(kind, moved, isThere).map((one) => ({ ...one, appended: [WARD, V1] })) as Scenarios;
}

function swap(): Scenarios {
  const swapped = (one: Segment, other: Segment) =>
    message('ADT^A17', one, visit({ 3: '^^^WARD' }), other, visit({ 3: '^^^MAIN', 19: 'V-2' }));
  const after = { [visitAt('V-1')]: isThere, [visitAt('V-2')]: { facility_id: 'MAIN', patient_id: 'P-2' } };
  const places = [WARD, 'facility-MAIN: FacilityUpserted'];
  const second = message('ADT^A01', person('P-2'), visit({ 19: 'V-2' }));
  return [
    {
      before: [admitted(), second],
      message: swapped(only(), only('P-2')),
      appended: [...places, V1, V2],
      after,
    },
    { message: swapped(person(), person('P-2')), appended: [...places, P1, P2, V1, V2], after },
  ];
}

/** Its message is about a visit whose class changes, and with it its number. */
function reclasses(kind: string, visitType: string, before: string): Scenarios {
  const [plain, renumbered] = [
    () => message(kind, person(), ['PV1', { 19: 'V-1' }]),
    () => message(kind, person(), former({ 5: 'V-2' }), ['PV1', { 19: 'V-1' }]),
  ];
  const after = { visit_type: visitType };
  return [
    {
      before: [admitted({ 2: before })],
      message: plain(),
      appended: [V1],
      after: ofVisit({ ...inProgress, ...after }),
    },
    { message: plain(), appended: [P1, V1], after: ofVisit(after) },
    {
      before: [admitted({ 2: before, 19: 'V-2' })],
      message: renumbered(),
      appended: [V1, V1, V2],
      after: {
        ...ofVisit({ ...inProgress, ...after, ...valid }),
        [visitAt('V-2')]: isVoid(`Merged (${kind.slice(-3)})`),
      },
    },
  ];
}

/** Its message says that a visit ended, or did not; either may come first. */
function ends(kind: string, state: object, other: string): Scenarios {
  const sent = () => message(kind, only(), visit());
  return [
    {
      before: [admitted(), message(other, only(), visit())],
      message: sent(),
      appended: [V1],
      after: ofVisit(state),
    },
    { before: [registered()], message: sent(), appended: [V1], after: ofVisit(state) },
  ];
}

/** Its message deletes a person: what there is of one is void, and stays. */
function deletesPerson(kind: string): Scenarios {
  const second = message('ADT^A01', person(), visit({ 19: 'V-2' }));
  const deleted = isVoid('Deleted (A29)');
  return [
    {
      before: [admitted(), second, message('ADT^A01', person('P-2'), visit({ 19: 'V-3' }))],
      message: message(kind, only()),
      appended: [V1, V2],
      after: {
        [visitAt('V-2')]: deleted,
        ...ofVisit(deleted),
        [visitAt('V-3')]: inProgress,
        [patientAt('P-1')]: { last_name: 'Rivera' },
      },
    },
    { message: message(kind, only()), appended: [] },
  ];
}

/** Its message moves the visit V-1 from P-1 to P-2. */
function movesVisit(kind: string): Scenarios {
  const sent = (pid: Segment) => message(kind, pid, former({ 5: 'V-1' }), visit());
  const after = ofVisit({ patient_id: 'P-2' });
  return [
    {
      before: [admitted(), registered('P-2')],
      message: sent(only('P-2')),
      appended: [V1],
      after: ofVisit({ ...inProgress, patient_id: 'P-2' }),
    },
    { message: sent(person('P-2')), appended: [P2, V1], after },
    {
      before: [admitted(), registered('P-2')],
      message: message(kind, only('P-2'), former({ 5: 'V-1' }), ['PV1', { 2: 'O' }]),
      appended: [V1],
      after,
    },
  ];
}

/** Its message moves an account, whose number is that of the visit V-1, from P-1 to P-2. */
function movesAccount(kind: string): Scenarios {
  const { source = {} } = byAccount;
  const sent = (pid: Segment) => message(kind, pid, former({ 3: 'V-1' }));
  const after = ofVisit({ patient_id: 'P-2' });
  const account = { 18: 'V-1' };
  const begun = message('ADT^A01', person('P-1', account), ['PV1', { 2: 'O' }]);
  return [
    {
      ...{ source, before: [begun, registered('P-2')], message: sent(only('P-2', account)), appended: [V1] },
      after,
    },
    { ...{ source, message: sent(person('P-2', account)), appended: [P2, V1] }, after },
    { message: sent(person('P-2', account)), appended: [P2], after: { [visitAt('V-1')]: undefined } },
  ];
}

/** Its message merges P-2 into P-1, and the account V-2 into V-1. */
function mergesBoth(kind: string): Scenarios {
  const both = mergesVisits(kind, byAccount, { 1: 'P-2' });
  return both.map((one) => ({
    ...one,
    appended: [...one.appended, P2],
    after: { ...one.after, [patientAt('P-2')]: { merged_into: 'P-1' } },
  })) as Scenarios;
}

/** Its message closes an account. */
function closes(kind: string): Scenarios {
  const sent = () => message(kind, only(), visit());
  return [
    {
      before: [discharged(), message('ADT^A13', only(), visit())],
      message: sent(),
      appended: [V1],
      after: ofVisit({ is_completed: true }),
    },
    {
      before: [registered()],
      message: sent(),
      appended: [V1],
      after: ofVisit({ is_completed: true, ...valid }),
    },
  ];
}

type Kinds = [type: string, events: string, of: (kind: string) => Scenarios];

const kinds: Kinds[] = [
  ['ADT', 'A01 A04', begins],
  ['ADT', 'A05 A14', plans],
  ['ADT', 'A02 A12', transfers],
  ['ADT', 'A17', swap],
  ['ADT', 'A54 A55 A61 A62', (kind) => changes(kind, { 2: 'E' }, { visit_type: 'emergency' })],
  ['ADT', 'A06', (kind) => reclasses(kind, 'inpatient', 'O')],
  ['ADT', 'A07', (kind) => reclasses(kind, 'outpatient', 'I')],
  ['ADT', 'A03', (kind) => ends(kind, finished, 'ADT^A13')],
  ['ADT', 'A13', (kind) => ends(kind, inProgress, 'ADT^A03')],
  ['ADT', 'A08', updates],
  ['ADT', 'A11', (kind) => voids(kind, 'Cancelled')],
  ['ADT', 'A27 A38', voidsPlanned],
  ['ADT', 'A23', (kind) => voids(kind, 'Deleted')],
  ['ADT', 'A28 A31', describes],
  ['ADT', 'A29', deletesPerson],
  ['ADT', 'A18 A30 A34 A39 A40 A47', mergesPatients],
  ['ADT', 'A35 A41 A49', (kind) => mergesVisits(kind, byAccount)],
  ['ADT', 'A36', mergesBoth],
  ['ADT', 'A42 A50', (kind) => mergesVisits(kind, byVisit)],
  ['ADT', 'A51', (kind) => mergesVisits(kind, byAlternate)],
  ['ADT', 'A44', movesAccount],
  ['ADT', 'A45', movesVisit],
  ['ADT', 'A09 A10 A15 A16 A20 A21 A22 A24 A25 A26 A32 A33 A37 A43 A46 A48 A52 A53 A60', nothing],
  ['SIU', 'S12', (kind) => appoints(kind, planned)],
  ['SIU', 'S13', (kind) => appoints(kind, planned)],
  ['SIU', 'S14 S18 S19', (kind) => appoints(kind, { status: undefined })],
  ['SIU', 'S15 S16 S17 S26', cancelsAppointment],
  ['SIU', 'S20 S21 S22 S23 S24 S25', nothing],
  ['DFT', 'P03 P11', charges],
  ['BAR', 'P01 P05', accounts],
  ['BAR', 'P06', closes],
  ['BAR', 'P02 P10 P12', nothing],
  ['MDM', 'T02 T06 T08', documents],
  ['MDM', 'T10', replaces],
  ['MDM', 'T09', (kind) => withdraws(kind, { 12: 'DOC-2', 13: 'DOC-1' })],
  ['MDM', 'T03 T04', (kind) => withdraws(kind, { 19: 'OB' })],
  ['MDM', 'T11', withdraws],
  ['MDM', 'T01 T05 T07', nothing],
  ['MFN', 'M02', staff],
  ['MFN', 'M05', places],
];

/** Scenarios of each supported event, by type and event. */
export const scenarios: ReadonlyMap<string, Scenarios> = new Map(
  kinds.flatMap(([type, events, of]) =>
    events.split(' ').map((event) => [`${type} ${event}`, of(`${type}^${event}`)] as const),
  ),
);

import fc from 'fast-check';
import { hl7Message } from './hl7Messages.ts';

/** What is known of a patient. */
export interface ModelPatient {
  last_name: string;
  merged_into?: string | undefined;
}

/** What is known of a visit. */
export interface ModelVisit {
  patient_id: string;
  status?: string;
  is_completed?: boolean;
  visit_type?: string;
  facility_id?: string;
  date_of_service?: string;
  isVoid?: boolean;
}

/** What happens in a hospital, as one message says it. */
interface Happening {
  event: (typeof events)[number];
  patient: string;
  other: string;
  visit: string;
  otherVisit: string;
  day: number;
  isNamed: boolean;
}

const events = [
  ...['ADT^A01', 'ADT^A01', 'ADT^A04', 'ADT^A05', 'ADT^A14', 'ADT^A02', 'ADT^A12', 'ADT^A03', 'ADT^A03'],
  ...['ADT^A13', 'ADT^A06', 'ADT^A07', 'ADT^A08', 'ADT^A11', 'ADT^A23', 'ADT^A27', 'ADT^A38', 'ADT^A28'],
  ...['ADT^A31', 'ADT^A29', 'ADT^A40', 'ADT^A34', 'ADT^A47', 'ADT^A42', 'ADT^A50', 'ADT^A45', 'ADT^A60'],
  ...['ADT^A15', 'SIU^S12', 'SIU^S15', 'SIU^S26', 'BAR^P06', 'ORU^R01'],
] as const;

/** In a ward are this many patients and visits, and so many messages are about them: none is about two wards. */
const ward = { patients: 30, visits: 80, messages: 1_500 };

/** What happens in as many wards as a day of so many messages is about. */
function happeningsOf(messages: number): fc.Arbitrary<Happening> {
  const wards = fc.integer({ min: 1, max: Math.ceil(messages / ward.messages) });
  return wards.chain((number) => {
    const of = (letter: string, most: number) =>
      fc.integer({ min: 1, max: most }).map((n) => `${letter}-${number}-${n}`);
    const [patient, visit] = [of('P', ward.patients), of('V', ward.visits)];
    return fc.record({
      event: fc.constantFrom(...events),
      ...{ patient, other: patient, visit, otherVisit: visit },
      day: fc.integer({ min: 1, max: 3 }),
      isNamed: fc.boolean(),
    });
  });
}

/** A message of the day, and what it is acknowledged with. */
export interface DayMessage {
  text: string;
  code: 'AA' | 'AE' | 'AR';
}

/**
 * A hospital as HL7 v2.5.1 describes it, chapter 3 above all: written from the standard, and from what the guide says of
 * messages that come out of order, without a look at the code.
 */
export class Hospital {
  readonly patients = new Map<string, ModelPatient>();
  readonly visits = new Map<string, ModelVisit>();

  /** Messages of a day, in any order; every twentieth one is an earlier one, sent again. */
  day(count: number): DayMessage[] {
    const sent: DayMessage[] = [];
    for (const [number, one] of fc.sample(happeningsOf(count), count).entries()) {
      const earlier = sent.at(-7);
      if (number % 20 === 19 && earlier?.code === 'AA') sent.push(earlier);
      else sent.push({ text: messageOf(one, number), code: this.#happens(one, `N${number}`) });
    }
    return sent;
  }

  #happens({ event, isNamed, ...one }: Happening, name: string): DayMessage['code'] {
    const { patient, visit } = one;
    const [type, code] = event.split('^') as [string, string];
    if (type === 'ORU') return 'AR';
    if (code === 'A60' || code === 'A15') return 'AA';
    if (code === 'A29') return this.#deletePerson(patient);
    const isWhole = ['A01', 'A04', 'A05', 'A14', 'A06', 'A07', 'A08', 'A28', 'A31'].includes(code);
    const isAppointment = type === 'SIU';
    const isIdentified = isWhole || isAppointment || isNamed;
    if (['A40', 'A34', 'A47'].includes(code))
      return this.#mergePatients(patient, one.other, isNamed ? name : undefined);
    const isSame = ['A42', 'A50'].includes(code) && visit === one.otherVisit;
    const isTooLate = ['A27', 'A38'].includes(code) && hasBegun(this.visits.get(visit));
    // What changes nothing needs no patient.
    if (!isIdentified && !this.patients.has(patient)) return isSame || isTooLate ? 'AA' : 'AE';
    if (isAppointment) this.patients.set(patient, this.patients.get(patient) ?? { last_name: name });
    else if (isIdentified) this.patients.set(patient, { ...this.patients.get(patient), last_name: name });
    if (code === 'A28' || code === 'A31') return 'AA';
    this.#visited(code, visit, one);
    return 'AA';
  }

  /** Whom a visit is of, whatever happens to it. */
  #visited(
    code: string,
    id: string,
    { patient, otherVisit, day }: Omit<Happening, 'event' | 'isNamed'>,
  ): void {
    const before = this.visits.get(id);
    const plain = { ...before, patient_id: patient };
    const isOpen = before === undefined || before.isVoid === true;
    const classed = { ...plain, visit_type: 'outpatient' };
    const set = (next: ModelVisit) => this.visits.set(id, next);
    const date_of_service = dateOf(day);
    switch (code) {
      case 'A01':
      case 'A04': {
        const isOver = !isOpen && before.is_completed === true;
        const isReturn = before?.date_of_service !== undefined && before.date_of_service !== date_of_service;
        const begins = !isOver || isReturn;
        const state = begins ? { status: 'in-progress', is_completed: false } : {};
        set({ ...classed, ...state, date_of_service, isVoid: false });
        break;
      }
      case 'A05':
      case 'A14':
        if (!hasBegun(before)) set({ ...classed, status: 'planned', is_completed: false, isVoid: false });
        break;
      case 'S12':
        if (!hasBegun(before)) {
          set({ ...classed, status: 'planned', is_completed: false, isVoid: false, date_of_service });
        }
        break;
      case 'A02':
      case 'A12':
        set({ ...classed, facility_id: `F-${day}` });
        break;
      case 'A03':
        set({ ...classed, status: 'finished', is_completed: true });
        break;
      case 'A13':
        set({ ...classed, status: 'in-progress', is_completed: false });
        break;
      case 'A06':
      case 'A07':
        set({ ...plain, visit_type: code === 'A06' ? 'inpatient' : 'outpatient' });
        break;
      case 'A11':
      case 'A23':
        set({ ...plain, isVoid: true });
        break;
      case 'A27':
      case 'A38':
      case 'S15':
      case 'S26':
        if (!hasBegun(before)) set({ ...plain, isVoid: true });
        break;
      case 'P06':
        set({ ...classed, is_completed: true });
        break;
      case 'A42':
      case 'A50':
        this.#mergeVisits(id, otherVisit, patient);
        break;
      default:
        set(classed);
    }
  }

  #mergeVisits(into: string, id: string, patient: string): void {
    if (into === id) return;
    const former = this.visits.get(id);
    const survivor = this.visits.get(into);
    const takesPlace = former !== undefined && former.isVoid !== true;
    this.visits.set(into, {
      ...(survivor ?? former),
      ...{ patient_id: patient, visit_type: 'outpatient' },
      isVoid: (survivor ?? former)?.isVoid === true && !takesPlace,
    });
    this.visits.set(id, { ...(former ?? { patient_id: patient }), isVoid: true });
  }

  #mergePatients(into: string, id: string, name: string | undefined): DayMessage['code'] {
    const [survivor, former] = [this.patients.get(into), this.patients.get(id)];
    const known = survivor ?? (id === into ? undefined : former && { last_name: former.last_name });
    const is = name === undefined ? known : { ...known, last_name: name };
    if (id === into) {
      if (name !== undefined) this.patients.set(into, { ...survivor, last_name: name });
      return 'AA';
    }
    if (is === undefined) return 'AE';
    this.patients.set(into, this.#leadsTo(into, id) ? { ...is, merged_into: undefined } : is);
    this.patients.set(id, { last_name: former?.last_name ?? is.last_name, merged_into: into });
    return 'AA';
  }

  #leadsTo(from: string, to: string): boolean {
    const seen = new Set<string>();
    for (let one = this.patients.get(from)?.merged_into; one !== undefined && !seen.has(one); ) {
      if (one === to) return true;
      seen.add(one);
      one = this.patients.get(one)?.merged_into;
    }
    return false;
  }

  #deletePerson(patient: string): DayMessage['code'] {
    if (!this.patients.has(patient)) return 'AA';
    for (const [id, visit] of this.visits) {
      if (visit.patient_id === patient) this.visits.set(id, { ...visit, isVoid: true });
    }
    return 'AA';
  }
}

/** Whether a visit takes place or took place, and is not void. */
function hasBegun(visit: ModelVisit | undefined): boolean {
  if (visit === undefined || visit.isVoid === true) return false;
  return visit.is_completed === true || ['in-progress', 'finished'].includes(visit.status ?? '');
}

function dateOf(day: number): string {
  return `2026-03-1${day}T09:30:00Z`;
}

type Segment = [name: string, fields: Record<number, string>];

function messageOf(
  { event, patient, other, visit, otherVisit, day, isNamed }: Happening,
  number: number,
): string {
  const code = event.slice(-3);
  const isWhole = [
    'A01',
    'A04',
    'A05',
    'A14',
    'A06',
    'A07',
    'A08',
    'A28',
    'A31',
    'S12',
    'S15',
    'S26',
  ].includes(code);
  const named = isWhole || isNamed ? { 5: `N${number}^Bea`, 7: '19840229' } : {};
  const admitted = `2026031${day}093000+0000`;
  const pv1: Record<string, Record<number, string>> = {
    ...{ A01: { 44: admitted }, A04: { 44: admitted }, A06: { 2: '' }, A07: { 2: '' } },
    ...{ A02: { 3: `^^^F-${day}` }, A12: { 3: `^^^F-${day}` } },
  };
  const former: Record<string, Record<number, string>> = {
    ...{ A40: { 1: other }, A34: { 1: other }, A47: { 1: other } },
    ...{
      A42: { 1: patient, 5: otherVisit },
      A50: { 1: patient, 5: otherVisit },
      A45: { 1: other, 5: visit },
    },
  };
  const segments: Segment[] = [
    ['EVN', { 2: '20260315080000+0000' }],
    ['PID', { 3: patient, ...named }],
    ...(former[code] ? [['MRG', former[code]] as Segment] : []),
    ['PV1', { 2: 'O', 19: visit, ...pv1[code] }],
    ...(code === 'S12' ? [['AIS', { 4: admitted }] as Segment] : []),
  ];
  return hl7Message(event, segments, { 10: `D-${number}` });
}

import type { Operation } from '../apply.ts';
import {
  type EventMappings,
  type Hl7Source,
  type MapEvent,
  MappingContext,
  Sourced,
  sourced,
  unlessCleared,
} from './context.ts';
import { mdm } from './mdm.ts';
import { type Hl7Issue, type Hl7Message, type Hl7Refusal, refusal, type Segment } from './parser.ts';
import { patientIdIn, patientIdOf, patientOf, sourcedPatientId } from './patient.ts';
import {
  encounterOf,
  type NamedProvider,
  providerOf,
  requiredVisitIdOf,
  type VisitFields,
  visitIdOf,
  visitLocationOf,
  voided,
} from './records.ts';

/** Says that the visit of a message does not take place: as of EVN-2, or MSH-7. */
function cancelledVisit(
  context: MappingContext,
  ids: { id: string; patient_id: string },
  reason: Sourced | undefined,
): Operation[] {
  const { message } = context;
  const since =
    unlessCleared(context.moment(message.first('EVN'), 2)) ??
    unlessCleared(context.moment(message.header, 7));
  if (!since) {
    context.refuse('101', message.header.at(7), 'Send the time when the message was created.');
    return [];
  }
  const usual = new Sourced(`Cancelled (${message.event})`, { at: message.eventPlace });
  const fields = { voided_at: since, void_reason: unlessCleared(reason) ?? usual };
  return [voided(context, ids, fields)];
}

interface Survivor {
  segment: Segment;
  id: string | undefined;
}

/**
 * Merges patients: each MRG names the one that ends, the preceding PID the one that survives (HL7 v2.5.1, 3.3.40).
 */
function merge(context: MappingContext): Operation[] {
  if (context.message.first('PID') === undefined) {
    context.refuse('100', 'PID^1', 'Send a PID segment.');
    return [];
  }
  const operations: Operation[] = [];
  const merges = new Set<Segment | undefined>();
  let survivor: Survivor | undefined;
  for (const segment of context.message.segments) {
    if (segment.name === 'PID') {
      const id = patientIdIn(context, segment, 3);
      survivor = { segment, id };
      if (id !== undefined) operations.push(...patientOf(context, id, 'ifNamed', segment));
    } else if (segment.name === 'MRG') {
      merges.add(survivor?.segment);
      const id = patientIdIn(context, segment, 1);
      if (survivor === undefined) context.refuse('100', segment.at(), 'Send a PID segment before it.');
      else operations.push(...mergeOf(context, segment, id, survivor));
    }
  }
  for (const pid of context.message.all('PID')) {
    if (!merges.has(pid)) context.refuse('100', pid.at(), 'Send an MRG segment after it.');
  }
  return operations;
}

function mergeOf(
  context: MappingContext,
  segment: Segment,
  id: string | undefined,
  { id: into, segment: pid }: Survivor,
): Operation[] {
  if (id === undefined || into === undefined) return [];
  if (id !== into) {
    const origins = { merged_into: sourcedPatientId(context, into, pid).origin };
    return [{ type: 'merge', id, into, at: segment.at(), origins }];
  }
  context.warn('204', segment.at(1), 'This is the surviving patient, so nothing is merged.');
  return [];
}

/** It continues, or begins: even one that was cancelled before. */
const begun: VisitFields = { status: 'in-progress', is_completed: false, voided_at: null, void_reason: null };
const ended: VisitFields = { status: 'finished', is_completed: true };
const endedTooEarly: VisitFields = { status: 'in-progress', is_completed: false };

/** Patient administration (HL7 v2.5.1, chapter 3). */
const adt: EventMappings = new Map<string, MapEvent>([
  ['A01', visit(begun, 'whole')],
  ['A03', visit(ended, 'ifNamed')],
  ['A04', visit(begun, 'whole')],
  ['A08', update],
  ['A11', cancelVisit],
  ['A13', visit(endedTooEarly, 'ifNamed')],
  ['A28', person],
  ['A31', person],
  ['A40', merge],
]);

function visit(fields: VisitFields, how: 'whole' | 'ifNamed'): MapEvent {
  return (context) => {
    const [patientId, id] = [patientIdOf(context), requiredVisitIdOf(context)];
    if (patientId === undefined || id === undefined) return [];
    const patient = patientOf(context, patientId, how);
    return [...patient, ...encounterOf(context, { id, patient_id: patientId }, fields)];
  };
}

/** Updates the patient, and the visit if the message names one. */
function update(context: MappingContext) {
  const [patientId, id] = [patientIdOf(context), visitIdOf(context)];
  if (patientId === undefined) return [];
  const patient = patientOf(context, patientId, 'whole');
  return id === undefined
    ? patient
    : [...patient, ...encounterOf(context, { id, patient_id: patientId }, {})];
}

function cancelVisit(context: MappingContext) {
  const [patientId, id] = [patientIdOf(context), requiredVisitIdOf(context)];
  if (patientId === undefined || id === undefined) return [];
  const event = context.message.first('EVN');
  const reason = sourced(event?.value(4), event?.at(4));
  return [
    ...patientOf(context, patientId, 'ifNamed'),
    ...cancelledVisit(context, { id, patient_id: patientId }, reason),
  ];
}

/** Updates only the person: PV1 is present merely because it is required (HL7 v2.5.1, 3.3.28). */
function person(context: MappingContext) {
  const patientId = patientIdOf(context);
  return patientId === undefined ? [] : patientOf(context, patientId, 'whole');
}

/** Financial management (HL7 v2.5.1, chapter 6): from charges, who was insured and who performed what was charged. */
const dft: EventMappings = new Map([['P03', charges]]);

function charges(context: MappingContext): Operation[] {
  const [patientId, id] = [patientIdOf(context), visitIdOf(context)];
  if (patientId === undefined) return [];
  const patient = patientOf(context, patientId, 'ifNamed');
  if (id === undefined) return patient;
  const performer = performerOf(context);
  const fields = { rendering_provider_id: performer.id };
  const visit = encounterOf(context, { id, patient_id: patientId }, fields);
  return [...patient, ...performer.operations, ...visit];
}

/** Returns who performed the first of them that names somebody. */
function performerOf(context: MappingContext): NamedProvider {
  const charge = context.message.all('FT1').find((one) => one.value(20) !== undefined);
  return providerOf(context, charge, 20);
}

const planned: VisitFields = { status: 'planned', is_completed: false };

/** Scheduling (HL7 v2.5.1, chapter 10): appointments that name the visit they are for. */
const siu: EventMappings = new Map<string, MapEvent>([
  ['S12', appointment({ ...planned, voided_at: null, void_reason: null })],
  ['S13', appointment(planned)],
  ['S14', appointment({})],
  ['S15', cancelAppointment],
]);

function appointment(fields: VisitFields): MapEvent {
  return (context) => {
    const ids = namedIds(context);
    if (ids === undefined) return [];
    return [
      ...patientOf(context, ids.patient_id, 'ifAbsent'),
      ...encounterOf(context, ids, { ...fields, date_of_service: startOf(context) }),
    ];
  };
}

function cancelAppointment(context: MappingContext) {
  const ids = namedIds(context);
  if (ids === undefined) return [];
  const schedule = context.message.first('SCH');
  const reason =
    unlessCleared(sourced(schedule?.value(6, 2), schedule?.at(6, 2))) ??
    sourced(schedule?.value(6), schedule?.at(6));
  return [...patientOf(context, ids.patient_id, 'ifAbsent'), ...cancelledVisit(context, ids, reason)];
}

/**
 * Returns the visit and its patient; undefined where none is named, in which case there is nothing to tell billing.
 */
function namedIds(context: MappingContext): { id: string; patient_id: string } | undefined {
  const id = visitIdOf(context);
  if (id === undefined) {
    context.warn('101', visitLocationOf(context), 'The appointment does not name a visit, so it is ignored.');
    return undefined;
  }
  const patientId = patientIdOf(context);
  return patientId === undefined ? undefined : { id, patient_id: patientId };
}

/** Returns when it begins: TQ1-7, or before v2.5 the start within SCH-11, or that of its first service. */
function startOf(context: MappingContext): Sourced | undefined {
  const { message } = context;
  return (
    unlessCleared(context.moment(message.first('TQ1'), 7)) ??
    unlessCleared(context.moment(message.first('SCH'), 11, 4)) ??
    unlessCleared(context.moment(message.first('AIS'), 4))
  );
}

/** What a message says, in the order in which it is to be carried out, and what was not used of it. */
export interface MappedMessage {
  operations: Operation[];
  /** Only warnings. */
  issues: Hl7Issue[];
}

const types = new Map<string, EventMappings>([
  ['ADT', adt],
  ['SIU', siu],
  ['DFT', dft],
  ['MDM', mdm],
]);

/** HL7 table 0103: production, training, debugging. */
const PRODUCTION = 'P';
const ANY = [PRODUCTION, 'T', 'D'];

/**
 * Returns what a source's message says; a refusal where it cannot be read, is not for this service, or lacks
 * something required.
 */
export function mapMessage(message: Hl7Message, source: Hl7Source): MappedMessage | Hl7Refusal {
  if (message.refusal) return message.refusal;
  const unsuitable = unsuitability(message, source);
  if (unsuitable) return unsuitable;
  const events = types.get(message.type);
  if (events === undefined) {
    const taken = [...types.keys()].join(', ');
    return refusal(
      'AR',
      '200',
      'MSH^1^9',
      `Messages of this type are not supported. The supported types are ${taken}.`,
    );
  }
  const map = events.get(message.event);
  if (map === undefined) {
    const taken = [...events.keys()].join(', ');
    return refusal(
      'AR',
      '201',
      'MSH^1^9',
      `Messages of this event are not supported. The supported events of ${message.type} are ${taken}.`,
    );
  }
  const context = new MappingContext(message, source);
  const operations = map(context);
  const { issues } = context;
  if (issues.some(({ severity }) => severity === 'error')) return { refused: 'AE', issues };
  return { operations, issues };
}

/** Returns why a message is not looked at, whatever it says. */
function unsuitability(message: Hl7Message, source: Hl7Source): Hl7Refusal | undefined {
  if (!/^2\.\d(?:\.\d)?$/.test(message.version)) {
    return refusal('AR', '203', 'MSH^1^12', 'Send the HL7 v2 version of the message, such as 2.5.1.');
  }
  const processingIds = source.maySendTests ? ANY : [PRODUCTION];
  if (!processingIds.includes(message.header.value(11) ?? '')) {
    const taken = processingIds.join(', ');
    return refusal(
      'AR',
      '202',
      'MSH^1^11',
      `Messages with this processing id are not accepted here. Send ${taken}.`,
    );
  }
  if (message.controlId === '') {
    return refusal(
      'AE',
      '101',
      'MSH^1^10',
      'Send a control id; the acknowledgment refers to the message by it.',
    );
  }
  return undefined;
}

import type { Operation } from '../operations.ts';
import {
  type Hl7Source,
  type MapEvent,
  MappingContext,
  type Sourced,
  sourced,
  unlessCleared,
} from './context.ts';
import { type Action, actionsOf } from './events.ts';
import { documentActions } from './mdm.ts';
import { merge, moveAccount, moveVisit, renumbered } from './merge.ts';
import { masterFileActions } from './mfn.ts';
import { type Hl7Issue, type Hl7Message, type Hl7Refusal, refusal } from './parser.ts';
import { patientIdOf, patientOf, sourcedPatientId } from './patient.ts';
import {
  appointedVisitIdOf,
  encounterOf,
  type NamedProvider,
  providerOf,
  requiredVisitIdOf,
  type VisitFields,
  visitIdOf,
  visitLocationOf,
  visitState,
} from './records.ts';
import { voidFields, voidSaid } from './voiding.ts';

const valid: VisitFields = { voided_at: null, void_reason: null };
/** It continues, or begins: even one that was cancelled before. */
const begun: VisitFields = { status: 'in-progress', is_completed: false, ...valid };
const planned: VisitFields = { status: 'planned', is_completed: false };
const ended: VisitFields = { status: 'finished', is_completed: true };
const endedTooEarly: VisitFields = { status: 'in-progress', is_completed: false };

/** How the patient and the visits of a message are read. */
interface Reading {
  patient: 'whole' | 'ifNamed';
  /** What a message means that names no visit: nothing for the patient alone, a mistake, or only the patient. */
  unnamed: 'refused' | 'remarked' | 'accepted';
  given?: 'planned' | 'begun';
}

const aboutBoth: Reading = { patient: 'whole', unnamed: 'remarked' };
const aboutVisit: Reading = { patient: 'ifNamed', unnamed: 'refused' };

/** Returns what is said of each patient (PID) and each of their visits (PV1). */
function visit(fields: VisitFields, { patient, unnamed, given }: Reading): MapEvent {
  return (context) =>
    context.groups('PID').flatMap((one) => {
      const patientId = patientIdOf(one);
      const visits = one.groups('PV1').map((each) => ({ each, id: namedVisitIdOf(each, unnamed) }));
      if (patientId === undefined) return [];
      const encounters = visits.flatMap(({ each, id }) =>
        id === undefined ? [] : encounterOf(each, { id, patient_id: patientId }, fields, given && { given }),
      );
      return [...patientOf(one, patientId, patient), ...encounters];
    });
}

function namedVisitIdOf(context: MappingContext, unnamed: Reading['unnamed']): string | undefined {
  if (unnamed === 'refused') return requiredVisitIdOf(context);
  const id = visitIdOf(context);
  if (id === undefined && unnamed === 'remarked') {
    context.warn('101', visitLocationOf(context), 'There is no visit number, so only the patient is stored.');
  }
  return id;
}

/** Returns what is said of a visit whose class changes; its former number, or that of its patient, ends. */
function classChange(visitType: string): MapEvent {
  const change = visit({ visit_type: visitType }, aboutBoth);
  return (context) => [...change(context), ...renumbered(context)];
}

/** Voids the visits of a message: as of EVN-2, or MSH-7. */
function voidVisit(what: string, given?: 'planned'): MapEvent {
  return (context) =>
    context.groups('PID').flatMap((one) => {
      const [patientId, id] = [patientIdOf(one), requiredVisitIdOf(one)];
      if (patientId === undefined || id === undefined) return [];
      const event = context.message.first('EVN');
      const fields = voidFields(one, what, sourced(event?.value(4), event?.at(4)));
      const operation = visitState(one, { id, patient_id: patientId }, fields);
      return [...patientOf(one, patientId, 'ifNamed'), { ...operation, ...(given && { given }) }];
    });
}

/** Updates only the person: PV1 is present merely because it is required (HL7 v2.5.1, 3.3.28). */
function person(context: MappingContext) {
  return context.groups('PID').flatMap((one) => {
    const patientId = patientIdOf(one);
    return patientId === undefined ? [] : patientOf(one, patientId, 'whole');
  });
}

/** Voids what there is of a person who is deleted (HL7 v2.5.1, 3.3.29). */
function deletePerson(context: MappingContext): Operation[] {
  const patientId = patientIdOf(context);
  if (patientId === undefined) return [];
  const { at } = sourcedPatientId(context, patientId).origin;
  return [{ type: 'voidAll', patientId, at: at ?? 'PID^1^3', ...voidSaid(context, 'Deleted') }];
}

/** Financial management (HL7 v2.5.1, chapter 6): from charges, who was insured and who performed what was charged. */
function charges(context: MappingContext): Operation[] {
  const [patientId, id] = [patientIdOf(context), visitIdOf(context)];
  if (patientId === undefined) return [];
  const patient = patientOf(context, patientId, 'ifNamed');
  if (id === undefined) return patient;
  const performer = performerOf(context);
  const fields = { rendering_provider_id: performer.id };
  const encounter = encounterOf(context, { id, patient_id: patientId }, fields);
  return [...patient, ...performer.operations, ...encounter];
}

/** Returns who performed the first of them that names somebody. */
function performerOf(context: MappingContext): NamedProvider {
  const charge = context.message.all('FT1').find((one) => one.value(20) !== undefined);
  return providerOf(context, charge, 20);
}

/** Scheduling (HL7 v2.5.1, chapter 10): appointments that name the visit they are for, until it begins. */
function appointment(fields: VisitFields): MapEvent {
  return (context) => {
    const ids = namedIds(context);
    if (ids === undefined) return [];
    const said = { ...fields, date_of_service: startOf(context) };
    return [
      ...patientOf(context, ids.patient_id, 'ifAbsent'),
      ...encounterOf(context, ids, said, { given: 'planned' }),
    ];
  };
}

function cancelAppointment(context: MappingContext): Operation[] {
  const ids = namedIds(context);
  if (ids === undefined) return [];
  const schedule = context.message.first('SCH');
  const reason =
    unlessCleared(sourced(schedule?.value(6, 2), schedule?.at(6, 2))) ??
    sourced(schedule?.value(6), schedule?.at(6));
  const operation = visitState(context, ids, voidFields(context, 'Cancelled', reason));
  return [...patientOf(context, ids.patient_id, 'ifAbsent'), { ...operation, given: 'planned' }];
}

/**
 * Returns the visit and its patient; undefined where none is named, in which case there is nothing to tell billing.
 */
function namedIds(context: MappingContext): { id: string; patient_id: string } | undefined {
  const id = appointedVisitIdOf(context);
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

/** Patient administration (HL7 v2.5.1, chapter 3), financial management, scheduling; documents and master files. */
const actions: Record<Action, MapEvent> = {
  acknowledge: () => [],
  person,
  begin: visit(begun, { ...aboutBoth, given: 'begun' }),
  plan: visit({ ...planned, ...valid }, { ...aboutBoth, given: 'planned' }),
  change: visit({}, aboutVisit),
  admit: classChange('inpatient'),
  release: classChange('outpatient'),
  update: visit({}, { patient: 'whole', unnamed: 'accepted' }),
  end: visit(ended, aboutVisit),
  reopen: visit(endedTooEarly, aboutVisit),
  cancel: voidVisit('Cancelled'),
  cancelPlanned: voidVisit('Cancelled', 'planned'),
  delete: voidVisit('Deleted'),
  deletePerson,
  mergePatients: merge({ isOfPatients: true }),
  mergeAccounts: merge({ places: ['PID-18'] }),
  mergePatientsAndAccounts: merge({ isOfPatients: true, places: ['PID-18'] }),
  mergeVisits: merge({ places: ['PV1-19'] }),
  mergeAlternateVisits: merge({ places: ['PV1-50'] }),
  moveAccount,
  moveVisit,
  book: appointment({ ...planned, ...valid }),
  reschedule: appointment(planned),
  modify: appointment({}),
  cancelAppointment,
  charge: charges,
  account: visit({}, { patient: 'ifNamed', unnamed: 'accepted' }),
  closeAccount: visit({ is_completed: true }, aboutVisit),
  ...documentActions,
  ...masterFileActions,
};

/** What a message says, in the order in which it is to be carried out, and what was not used of it. */
export interface MappedMessage {
  operations: Operation[];
  /** Only warnings. */
  issues: Hl7Issue[];
}

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
  if (source.others === 'accept' && isOther(message)) return { operations: [], issues: [] };
  const events = actionsOf.get(message.type);
  if (events === undefined) {
    const taken = [...actionsOf.keys()].join(', ');
    return refusal(
      'AR',
      '200',
      'MSH^1^9',
      `Messages of this type are not supported. The supported types are ${taken}.`,
    );
  }
  const action = events.get(message.event);
  if (action === undefined) {
    const taken = [...events.keys()].join(', ');
    return refusal(
      'AR',
      '201',
      'MSH^1^9',
      `Messages of this event are not supported. The supported events of ${message.type} are ${taken}.`,
    );
  }
  const context = new MappingContext(message, source);
  const operations = actions[action](context);
  const { issues } = context;
  if (issues.some(({ severity }) => severity === 'error')) return { refused: 'AE', issues };
  return { operations, issues };
}

/** Whether messages of this type and event are not for this service. */
export function isOther({ type, event }: Hl7Message): boolean {
  return !actionsOf.get(type)?.has(event);
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

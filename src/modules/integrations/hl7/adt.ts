import { cancelledVisit } from './cancelledVisit.ts';
import { encounterOf, requiredVisitIdOf, type VisitFields, visitIdOf } from './encounter.ts';
import type { MappingContext } from './MappingContext.ts';
import type { EventMappings, MapEvent } from './mapEvent.ts';
import { merge } from './merge.ts';
import { patientIdOf, patientOf } from './patient.ts';
import { told } from './Told.ts';

/** It continues, or begins: even one that was cancelled before. */
const begun: VisitFields = { status: 'in-progress', is_completed: false, voided_at: null, void_reason: null };
const ended: VisitFields = { status: 'finished', is_completed: true };
const endedTooEarly: VisitFields = { status: 'in-progress', is_completed: false };

/** Patient administration (HL7 v2.5.1, chapter 3). */
export const adt: EventMappings = new Map<string, MapEvent>([
  ['A01', visit(begun, 'whole')],
  ['A03', visit(ended, 'ifNamed')],
  ['A04', visit(begun, 'whole')],
  ['A08', update],
  ['A11', cancel],
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

function cancel(context: MappingContext) {
  const [patientId, id] = [patientIdOf(context), requiredVisitIdOf(context)];
  if (patientId === undefined || id === undefined) return [];
  const event = context.message.first('EVN');
  const reason = told(event?.value(4), event?.at(4));
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

import { cancelledVisit } from './cancelledVisit.ts';
import { encounterOf, type VisitFields, visitIdOf, visitLocationOf } from './encounter.ts';
import type { MappingContext } from './MappingContext.ts';
import type { EventMappings, MapEvent } from './mapEvent.ts';
import { patientIdOf, patientOf } from './patient.ts';
import { type Told, told, unlessCleared } from './Told.ts';

const planned: VisitFields = { status: 'planned', is_completed: false };

/** Scheduling (HL7 v2.5.1, chapter 10): appointments that name the visit they are for. */
export const siu: EventMappings = new Map<string, MapEvent>([
  ['S12', appointment({ ...planned, voided_at: null, void_reason: null })],
  ['S13', appointment(planned)],
  ['S14', appointment({})],
  ['S15', cancel],
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

function cancel(context: MappingContext) {
  const ids = namedIds(context);
  if (ids === undefined) return [];
  const schedule = context.message.first('SCH');
  const reason =
    unlessCleared(told(schedule?.value(6, 2), schedule?.at(6, 2))) ??
    told(schedule?.value(6), schedule?.at(6));
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
function startOf(context: MappingContext): Told | undefined {
  const { message } = context;
  return (
    unlessCleared(context.moment(message.first('TQ1'), 7)) ??
    unlessCleared(context.moment(message.first('SCH'), 11, 4)) ??
    unlessCleared(context.moment(message.first('AIS'), 4))
  );
}

import type { AboutRecord } from '../aboutRecords.ts';
import type { Hl7Source } from './hl7Source.ts';
import { MappingContext } from './MappingContext.ts';
import type { Hl7Message } from './message/Hl7Message.ts';
import { visitIdOf } from './records/encounter.ts';
import { patientIdOf } from './records/patient.ts';

/** The patient and the visit of a message, as far as it names them: also of one of which nothing is taken. */
export function subjectsOf(message: Hl7Message, source: Hl7Source): AboutRecord[] {
  // What is wrong with them is told elsewhere.
  const context = new MappingContext(message, source);
  const [patient, visit] = [patientIdOf(context), visitIdOf(context)];
  return [
    ...(patient === undefined ? [] : [{ kind: 'patient', id: patient }]),
    ...(visit === undefined ? [] : [{ kind: 'encounter', id: visit }]),
  ];
}

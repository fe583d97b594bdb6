import type { AboutRecord } from '../aboutRecords.ts';
import { visitIdOf } from './encounter.ts';
import type { Hl7Message } from './Hl7Message.ts';
import type { Hl7Source } from './hl7Source.ts';
import { MappingContext } from './MappingContext.ts';
import { patientIdIn } from './patient.ts';

/**
 * Returns the patients and the visit of a message, as far as it names them: also for a message of which nothing is
 * accepted.
 */
export function subjectsOf(message: Hl7Message, source: Hl7Source): AboutRecord[] {
  // Problems with them are reported elsewhere.
  const context = new MappingContext(message, source);
  const patients = [
    ...message.all('PID').map((segment) => patientIdIn(context, segment, 3)),
    ...message.all('MRG').map((segment) => patientIdIn(context, segment, 1)),
  ];
  const visit = visitIdOf(context);
  return [
    ...patients.flatMap((id) => (id === undefined ? [] : [{ kind: 'patient', id }])),
    ...(visit === undefined ? [] : [{ kind: 'encounter', id: visit }]),
  ];
}

import type { Operation } from '../operation.ts';
import { encounterOf, visitIdOf } from './encounter.ts';
import type { MappingContext } from './MappingContext.ts';
import type { EventMappings } from './mapEvent.ts';
import { patientIdOf, patientOf } from './patient.ts';
import { type NamedProvider, providerOf } from './provider.ts';

/** Financial management (HL7 v2.5.1, chapter 6): from charges, who was insured and who performed what was charged. */
export const dft: EventMappings = new Map([['P03', charges]]);

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

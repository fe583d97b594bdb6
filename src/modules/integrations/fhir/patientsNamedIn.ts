import { isJsonObject } from '../../../domain/events/event.ts';
import type { ReferenceResolver } from './ReferenceResolver.ts';
import { referenceSchema } from './resources/dataTypes.ts';

/** The elements in which resources of any type name patients (FHIR R4, 8.1.14). */
const elements = ['subject', 'patient', 'beneficiary', 'subscriber'];

/**
 * Resolves with the ids of the patients whom a resource names, whether or not anything else in it can be used. Rejects
 * with `unavailable`.
 */
export async function patientsNamedIn(resource: unknown, resolver: ReferenceResolver): Promise<string[]> {
  if (!isJsonObject(resource)) return [];
  const ids: string[] = [];
  for (const element of elements) {
    const { data: reference } = referenceSchema.safeParse(resource[element]);
    if (reference === undefined) continue;
    const named = await resolver.resolve(reference, 'patient', element, resource);
    if ('id' in named) ids.push(named.id);
  }
  return ids;
}

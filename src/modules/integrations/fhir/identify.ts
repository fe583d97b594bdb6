import { isJsonObject } from '../../../domain/events/event.ts';
import type { FhirEntry } from './FhirEntry.ts';
import type { Identifier } from './resources/dataTypes.ts';
import { identifierSchema, listOf } from './resources/dataTypes.ts';
import { identifierOf } from './resources/identifiers.ts';
import { isPayer, organizationSchema } from './resources/mapOrganization.ts';
import type { MappingContext } from './resources/mapped.ts';
import { typeOf } from './resources/mapResource.ts';

const identifiersSchema = listOf(identifierSchema);

/** By the type of a resource, the kind of its record. */
const kinds: Partial<Record<string, string>> = {
  Patient: 'patient',
  Location: 'facility',
  Practitioner: 'provider',
  Encounter: 'encounter',
  DocumentReference: 'document',
};

/** How a resource identifies itself. */
export interface Identity {
  type: string | undefined;
  /** Kind of its record; undefined where it has none. */
  kind: string | undefined;
  /** `Resource.id`, or the one in the address to which it was sent. */
  resourceId: string | undefined;
  identifiers: Identifier[];
  /**
   * The id of its record: its identifier of the system that the source names for the type, otherwise `Resource.id`.
   * Undefined without either: an id made up here would be different the next time.
   */
  recordId: string | undefined;
}

export function identify({ resource, id }: FhirEntry, context: MappingContext): Identity {
  const type = typeOf(resource);
  const { id: ownId, identifier } = isJsonObject(resource) ? resource : {};
  const resourceId = id ?? (typeof ownId === 'string' && ownId !== '' ? ownId : undefined);
  const parsed = identifiersSchema.safeParse(identifier);
  const identifiers = parsed.success ? parsed.data : [];
  const system = type && context.idSystems[type];
  const recordId = (system && identifierOf(identifiers, system)) ?? resourceId;
  return { type, kind: kindOf(type, resource, context, recordId), resourceId, identifiers, recordId };
}

function kindOf(
  type: string | undefined,
  resource: unknown,
  context: MappingContext,
  recordId: string | undefined,
): string | undefined {
  if (type !== 'Organization') return type && kinds[type];
  const organization = organizationSchema.safeParse(resource);
  return organization.success && isPayer(organization.data, context, recordId) ? 'payer' : 'facility';
}

import type { z } from 'zod';
import { isJsonObject } from '../../../../domain/events/event.ts';
import type { Source } from '../../sources.ts';
import {
  coverageSchema,
  explanationOfBenefitSchema,
  mapCoverage,
  mapExplanationOfBenefit,
} from './coverage.ts';
import { documentReferenceSchema, mapDocumentReference } from './documentReference.ts';
import { encounterSchema, mapEncounter } from './encounter.ts';
import { type Issue, type Mapped, type MappingContext, refused, remarked } from './issues.ts';
import { locationSchema, mapLocation, mapOrganization, organizationSchema } from './organization.ts';
import { mapPatient, patientSchema } from './patient.ts';
import {
  mapPractitioner,
  mapPractitionerRole,
  practitionerRoleSchema,
  practitionerSchema,
} from './practitioner.ts';

/** Returns how to interpret what a source sends. `at`: when it arrived, in milliseconds since 1970. */
export function contextOf({ id_systems = {}, mapping = {}, time_zone }: Source, at: number): MappingContext {
  return { at, timeZone: time_zone, idSystems: id_systems, mapping };
}

/**
 * Maximum numbers of faulty elements named per resource, and of elements that a resource may have: far more than any
 * has.
 */
const MOST_ISSUES = 20;
export const MOST_ELEMENTS = 100_000;

/** A resource as its type's mapping accepts it, or why it does not. */
type Attempt = { mapped: Mapped } | { issues: Issue[] };
type MapType = (resource: unknown, context: MappingContext, id: string | undefined) => Attempt;

function mapping<Schema extends z.ZodType>(
  schema: Schema,
  map: (resource: z.infer<Schema>, context: MappingContext, id: string | undefined) => Mapped,
): MapType {
  return (resource, context, id) => {
    const parsed = schema.safeParse(resource);
    return parsed.success
      ? { mapped: map(parsed.data, context, id) }
      : { issues: parsed.error.issues.slice(0, MOST_ISSUES).map((issue) => issueOf(resource, issue)) };
  };
}

/** By the type of resource that is accepted. */
const mappings: Partial<Record<string, MapType>> = {
  Patient: mapping(patientSchema, mapPatient),
  Coverage: mapping(coverageSchema, mapCoverage),
  Organization: mapping(organizationSchema, mapOrganization),
  Location: mapping(locationSchema, mapLocation),
  Practitioner: mapping(practitionerSchema, mapPractitioner),
  PractitionerRole: mapping(practitionerRoleSchema, mapPractitionerRole),
  Encounter: mapping(encounterSchema, mapEncounter),
  DocumentReference: mapping(documentReferenceSchema, mapDocumentReference),
  ExplanationOfBenefit: mapping(explanationOfBenefitSchema, mapExplanationOfBenefit),
};

/** The types of resources that are accepted. */
export const resourceTypes: readonly string[] = Object.keys(mappings);

/**
 * Returns what a resource says. `id`: of its record. A resource of a type that is not accepted says nothing, with a
 * remark.
 */
export function mapResource(resource: unknown, context: MappingContext, id: string | undefined): Attempt {
  const type = typeOf(resource);
  if (type === undefined) {
    return { issues: [refused('invalid', 'Resource', 'Send a resource: an object with a resourceType.')] };
  }
  const map = mappings[type];
  if (map === undefined) {
    const text = `Resources of this type are not supported, so it is ignored. The supported types are ${resourceTypes.join(', ')}.`;
    return { mapped: { of: 'nothing', issues: [remarked('not-supported', 'Resource', text)] } };
  }
  if (elementsIn(resource, MOST_ELEMENTS) > MOST_ELEMENTS) {
    const text = `A resource can have at most ${MOST_ELEMENTS} elements.`;
    return { issues: [refused('too-long', type, text)] };
  }
  return map(resource, context, id);
}

/** Returns how many elements a resource has, counting no further than just beyond `most`. */
function elementsIn(resource: unknown, most: number): number {
  const open = [resource];
  let count = 0;
  while (count <= most && open.length > 0) {
    const value = open.pop();
    if (typeof value !== 'object' || value === null) continue;
    const parts: unknown[] = Array.isArray(value) ? value : Object.values(value);
    count += parts.length;
    if (count <= most) for (const part of parts) open.push(part);
  }
  return count;
}

/** Returns the type of a resource; undefined where it is not one. */
export function typeOf(resource: unknown): string | undefined {
  const type = isJsonObject(resource) ? resource.resourceType : undefined;
  return typeof type === 'string' && /^[A-Z][A-Za-z]{1,63}$/.test(type) ? type : undefined;
}

/** Returns what is wrong with an element, without repeating its value. */
function issueOf(resource: unknown, { path, code }: z.core.$ZodIssue): Issue {
  const places = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`));
  const expression = `${typeOf(resource) ?? 'Resource'}${places.join('')}`;
  const element = path.reduce<unknown>(
    (value, part) => (value as Record<PropertyKey, unknown>)?.[part],
    resource,
  );
  if (element === undefined) return refused('required', expression, 'This element is required.');
  if (code === 'invalid_value')
    return refused('value', expression, 'This is not one of the codes that FHIR R4 allows here.');
  return refused('invalid', expression, 'This element does not have the type that FHIR R4 requires here.');
}

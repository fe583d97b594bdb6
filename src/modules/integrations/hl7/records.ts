import { inTable, type VisitPlace } from '../mapping.ts';
import type { RecordOperation } from '../operations.ts';
import {
  type Hl7Source,
  type MappingContext,
  recordOperation,
  Sourced,
  type SourcedFields,
  sourced,
  unlessCleared,
} from './context.ts';
import { assignedBy, isOf, type Place, placeOf } from './dataTypes.ts';
import type { Hl7Message, Repetition, Segment } from './parser.ts';
import { sourcedPatientId } from './patient.ts';

/**
 * Returns where a visit takes place, for the field that refers to it: PV1-39, or the facility of PV1-3, or that of
 * the source.
 */
function facilityOf(
  { source }: MappingContext,
  visit: Segment | undefined,
): { id: Sourced | undefined; isDefault?: boolean; operations: RecordOperation[] } {
  const named = (field: number, component = 1, subcomponent = 1) =>
    sourced(visit?.value(field, component, subcomponent), visit?.at(field, component));
  if (visit === undefined) return { id: undefined, operations: [] };
  const own = named(39);
  const inMessage = unlessCleared(own) ?? unlessCleared(named(3, 4)) ?? named(3, 4, 2);
  const id = unlessCleared(inMessage) ?? sourced(source.facility?.id, undefined, 'facility');
  if (id === undefined) return { id: inMessage, operations: [] };
  const name = unlessCleared(inMessage) ?? sourced(source.facility?.name, undefined, 'facility');
  const at = visit.at(own?.value ? 39 : 3);
  return {
    ...{ id, isDefault: inMessage === undefined },
    operations: [recordOperation('facility', at, { id, name }, true)],
  };
}

/** As named by assigning authorities (HD) and types of identifiers (table 0203). */
const NPI = 'NPI';
const NPI_SYSTEM = '2.16.840.1.113883.4.6';

/** What a field of people (XCN) says about a provider. */
export interface NamedProvider {
  /** The provider's id, for the field that refers to it. */
  id: Sourced | undefined;
  operations: RecordOperation[];
}

/**
 * Returns the first provider that a field names; further identifiers of the same person are repetitions with the same
 * name, or with none.
 */
export function providerOf(
  context: MappingContext,
  segment: Segment | undefined,
  field: number,
): NamedProvider {
  const [person, ...others] = segment?.repetitions(field) ?? [];
  if (segment === undefined || person === undefined) return { id: undefined, operations: [] };
  const [id, last, first] = [1, 2, 3].map((component) =>
    sourced(person.value(component), person.at(component)),
  );
  if (id === undefined) {
    context.warn('101', segment.at(field, 1, person.number), 'A provider without an identifier is ignored.');
  }
  if (!id?.value || !first?.value || !last?.value) return { id, operations: [] };
  const same = others.filter(
    (one) => one.value(2) === undefined || (one.value(2) === last.value && one.value(3) === first.value),
  );
  const numbered = [person, ...same].find((one) => isNpi(one, ofPeople));
  const npi = sourced(numbered?.value(1), numbered?.at(1));
  const fields = { id: unlessCleared(id), first_name: first, last_name: last, npi };
  return { id, operations: [recordOperation('provider', segment.at(field), fields, true)] };
}

/** Whether an identifier is an NPI, by its type or its authority, each in a component (XCN, CX). */
export function isNpi(one: Repetition, { authority, type }: { authority: number; type: number }): boolean {
  const isTyped = one.value(type) === NPI || isOf(NPI, one, authority) || isOf(NPI_SYSTEM, one, authority);
  return isTyped && /^\d{10}$/.test(one.value(1) ?? '');
}

/** Where people (XCN) have it. */
const ofPeople = { authority: 9, type: 13 };

/** HL7 table 0004, and `OBS`, which many add to it. Other codes have no visit type. */
const VISIT_TYPES: Partial<Record<string, string>> = {
  ...{ E: 'emergency', I: 'inpatient', B: 'inpatient' },
  ...{ O: 'outpatient', R: 'outpatient', OBS: 'observation' },
};

/** Its codes without meaning here: not applicable, unknown. */
const WITHOUT_CLASS = new Set(['N', 'U']);

/** Where the number of a visit is, unless the source says so: the account number serves where there is none. */
const USUAL_PLACES: readonly VisitPlace[] = ['PV1-19', 'PID-18'];

/** Returns where the source says that the number of a visit is. */
function configuredPlacesOf({ visit_from, mapping }: Hl7Source): readonly VisitPlace[] | undefined {
  return visit_from ?? (mapping?.visit_id && [mapping.visit_id]);
}

/** Returns where the number of a visit may be, the place that counts most first. */
export function visitPlacesOf(source: Hl7Source): readonly VisitPlace[] {
  return configuredPlacesOf(source) ?? USUAL_PLACES;
}

/** Returns the first of these places, in the form of an issue's `location`. */
export function visitLocationOf({ source }: MappingContext): string {
  const { segment, field } = placeOf(visitPlacesOf(source)[0] as VisitPlace);
  return `${segment}^1^${field}`;
}

/**
 * Returns the number of the visit that a message is about; undefined where it names none. An account number that
 * serves as one by default is remarked on.
 */
export function visitIdOf(context: MappingContext): string | undefined {
  const found = sourcedVisitId(context);
  if (found?.origin.at?.startsWith('PID') && !configuredPlacesOf(context.source)) {
    context.warn('101', visitLocationOf(context), 'There is no visit number, so the account number is used.');
  }
  return found?.value;
}

/** Returns the number of the visit of an appointment, which serves for it only where the source says so. */
export function appointedVisitIdOf({ message, source }: MappingContext): string | undefined {
  const places = configuredPlacesOf(source) ?? USUAL_PLACES.slice(0, 1);
  return places.map((place) => visitNumberAt(message, source, place)).find((one) => one)?.value;
}

/** Returns the number of the visit with its place. */
function sourcedVisitId({ message, source }: MappingContext): Sourced<string> | undefined {
  for (const place of visitPlacesOf(source)) {
    const found = visitNumberAt(message, source, place);
    if (found) return found;
  }
  return undefined;
}

/** Returns the number of a visit at a place: the one of the source's authority, else the first. */
export function visitNumberAt(
  message: Hl7Message,
  source: Hl7Source,
  place: Place | VisitPlace,
): Sourced<string> | undefined {
  const { segment, field } = typeof place === 'string' ? placeOf(place) : place;
  const numbers = message.first(segment)?.repetitions(field) ?? [];
  const ofAuthority = assignedBy(source.visit_authority, numbers);
  const found = ofAuthority ?? numbers[0];
  const setting = source.visit_from
    ? 'visit_from'
    : source.mapping?.visit_id
      ? 'mapping.visit_id'
      : ofAuthority && 'visit_authority';
  return unlessCleared(sourced(found?.value(1), found?.at(1), setting));
}

/** Returns the number of the visit of a message that is about nothing else; a missing one is an error. */
export function requiredVisitIdOf(context: MappingContext): string | undefined {
  const id = visitIdOf(context);
  if (id !== undefined) return id;
  const places = visitPlacesOf(context.source).join(' or ');
  context.refuse('101', visitLocationOf(context), `Send the visit number in ${places}.`);
  return undefined;
}

/** What an event says about a visit, beyond its PV1. */
export interface VisitFields {
  /** Values that the event itself implies are plain. */
  status?: string;
  is_completed?: boolean;
  voided_at?: Sourced<string> | null;
  void_reason?: Sourced<string> | null;
  /** Applies where PV1-2 says nothing. */
  visit_type?: string;
  date_of_service?: Sourced | undefined;
  rendering_provider_id?: Sourced | undefined;
}

/** Returns what a message says about a visit and the people and places involved in it, the latter first. */
export function encounterOf(
  context: MappingContext,
  ids: { id: string; patient_id: string },
  { visit_type: usualType, ...more }: VisitFields,
  when: Pick<RecordOperation, 'ifAbsent' | 'given'> = {},
): RecordOperation[] {
  const visit = context.message.first('PV1');
  const attending = providerOf(context, visit, 7);
  const facility = facilityOf(context, visit);
  const fields = {
    ...sourcedIds(context, ids),
    provider_id: attending.id,
    facility_id: facility.id,
    visit_type: visitTypeOf(context, visit) ?? sourced(usualType, usualType && context.message.eventPlace),
    date_of_service: context.moment(visit, 44),
    ...eventFields(context, more),
  };
  return [
    ...attending.operations,
    ...facility.operations,
    {
      ...recordOperation('encounter', visit?.at() ?? 'PV1^1', fields, when.ifAbsent),
      ...when,
      // A field that a message does not have leaves what is known (HL7 v2.5.1, 2.5.3).
      ...(facility.isDefault && { ifUnset: ['facility_id'] }),
    },
  ];
}

/** Returns the ids of a visit and its patient, with their places where they are those of the message. */
function sourcedIds(context: MappingContext, { id, patient_id }: { id: string; patient_id: string }) {
  const found = sourcedVisitId(context);
  return {
    id: found?.value === id ? found : new Sourced(id, {}),
    patient_id: sourcedPatientId(context, patient_id),
  };
}

/** Returns what an event says: whatever has no field of its own has the event's code as its place. */
function eventFields({ message }: MappingContext, fields: VisitFields): SourcedFields {
  const at = message.eventPlace;
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([, one]) => one !== undefined)
      .map(([name, one]) => [name, one instanceof Sourced ? one : new Sourced(one, { at })]),
  );
}

/** Says of a visit only what its event does: that it does not take place, or is of another patient. */
export function visitState(
  context: MappingContext,
  ids: { id: string; patient_id: string },
  fields: VisitFields,
): RecordOperation {
  const at = context.message.first('PV1')?.at() ?? 'PV1^1';
  return recordOperation('encounter', at, { ...sourcedIds(context, ids), ...eventFields(context, fields) });
}

function visitTypeOf(context: MappingContext, visit: Segment | undefined): Sourced | undefined {
  const code = visit?.value(2);
  if (visit === undefined || code === undefined) return undefined;
  if (code === null) return sourced<null>(code, visit.at(2, 1));
  const ownType = inTable(context.source.mapping?.visit_types, code);
  if (ownType === undefined && WITHOUT_CLASS.has(code)) return undefined;
  const type = ownType ?? VISIT_TYPES[code.toUpperCase()];
  if (type === undefined)
    context.warn('103', visit.at(2), 'No visit type corresponds to this class, so it is ignored.');
  return sourced(type, visit.at(2, 1), ownType && 'mapping.visit_types');
}

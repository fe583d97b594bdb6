import type { VisitPlace } from '../mapping.ts';
import type { MergeOperation, Operation } from '../operations.ts';
import type { MapEvent, MappingContext, Sourced } from './context.ts';
import type { Segment } from './parser.ts';
import { formerPatientIdOf, patientIdOf, patientOf, sourcedPatientId } from './patient.ts';
import { encounterOf, visitIdOf, visitNumberAt, visitPlacesOf, visitState } from './records.ts';
import { voidSaid } from './voiding.ts';

/** Where MRG has the former number of what has a place: the account, the visit, the alternate visit. */
const FORMER: Record<VisitPlace, number> = { 'PID-18': 3, 'PV1-19': 5, 'PV1-50': 6 };

/** Which identifiers of a message change, or continue as others. */
interface Merged {
  isOfPatients?: boolean;
  /** Places of the numbers of visits. */
  places?: readonly VisitPlace[];
}

/**
 * Merges patients, and visits: each MRG names what ends, the preceding PID and the following PV1 what survives (HL7
 * v2.5.1, 3.3.40).
 */
export function merge({ isOfPatients = false, places = [] }: Merged): MapEvent {
  return (context) =>
    eachMerge(context, ({ one, former, patientId }) => [
      ...(isOfPatients ? mergeOfPatients(one, former, patientId) : []),
      ...mergeOfVisits(one, former, patientId, places),
    ]);
}

/** Returns the merges that come with another event, whose message may have an MRG. */
export function renumbered(context: MappingContext): Operation[] {
  const former = context.message.first('MRG');
  if (former === undefined) return [];
  const patientId = patientIdOf(context);
  if (patientId === undefined) return [];
  const isOther = former.value(1) !== undefined;
  return [
    ...(isOther ? mergeOfPatients(context, former, patientId, false) : []),
    ...mergeOfVisits(context, former, patientId, visitPlacesOf(context.source), false),
  ];
}

/** Moves the account, whose number is that of visits, to another patient (HL7 v2.5.1, 3.3.44). */
export const moveAccount: MapEvent = (context) =>
  eachMerge(context, ({ one, patientId }) => {
    const places = visitPlacesOf(one.source);
    const id = places.includes('PID-18') && visitNumberAt(one.message, one.source, 'PID-18')?.value;
    if (!id) return [];
    const operation = visitState(one, { id, patient_id: patientId }, {});
    return [places[0] === 'PID-18' ? operation : { ...operation, given: 'present' }];
  });

/** Moves visits to another patient; one that also gets another number continues as that (HL7 v2.5.1, 3.3.45). */
export const moveVisit: MapEvent = (context) =>
  eachMerge(context, ({ one, former, patientId }) => {
    const places = visitPlacesOf(one.source);
    const id =
      visitIdOf(one) ?? places.map((place) => formerNumberOf(former, place)).find((number) => number);
    if (!id) {
      one.refuse('101', former.at(5), 'Send the visit number.');
      return [];
    }
    const visit = encounterOf(one, { id, patient_id: patientId }, {});
    return [...visit, ...mergeOfVisits(one, former, patientId, places, false)];
  });

/** What one MRG is about. */
interface OneMerge {
  /** The message as if there were no other. */
  one: MappingContext;
  former: Segment;
  patientId: string;
}

/** Returns the operations for each MRG, those for its patient first. */
function eachMerge(context: MappingContext, read: (merge: OneMerge) => Operation[]): Operation[] {
  const placed = context.message.segments.map(({ name }) => name);
  if (placed.indexOf('MRG') < placed.indexOf('PID') && placed.includes('MRG')) {
    context.refuse('100', 'MRG^1', 'Send a PID segment before it.');
  }
  return context.groups('PID').flatMap((group) => {
    const patientId = patientIdOf(group);
    if (patientId === undefined) return [];
    const patient = patientOf(group, patientId, 'ifNamed');
    const merges = group.groups('MRG').flatMap((one) => {
      const former = one.message.first('MRG');
      if (former) return read({ one, former, patientId });
      one.refuse('100', one.message.first('PID')?.at() ?? 'PID^1', 'Send an MRG segment after it.');
      return [];
    });
    return [...patient, ...merges];
  });
}

function mergeOfPatients(
  context: MappingContext,
  former: Segment,
  into: string,
  isOnlyAbout = true,
): Operation[] {
  const id = formerPatientIdOf(context, former);
  if (id === undefined) return [];
  if (id !== into) {
    const origins = { merged_into: sourcedPatientId(context, into).origin };
    return [
      { type: 'merge', kind: 'patient', id, into, fields: { merged_into: into }, at: former.at(), origins },
    ];
  }
  if (isOnlyAbout) {
    context.warn('204', former.at(1), 'This is the surviving patient, so nothing is merged.');
  }
  return [];
}

function formerNumberOf(former: Segment, place: VisitPlace): string | undefined {
  return former.value(FORMER[place]) ?? undefined;
}

/**
 * Returns the merge of a visit into another one, by the first of the places whose numbers are those of the source's
 * visits. A number that is only used where there is no other ends only what is known by it.
 */
function mergeOfVisits(
  context: MappingContext,
  former: Segment,
  patientId: string,
  places: readonly VisitPlace[],
  isOnlyAbout = true,
): Operation[] {
  const all = visitPlacesOf(context.source);
  const [usual] = all;
  for (const place of all.filter((one) => places.includes(one))) {
    const into = visitNumberAt(context.message, context.source, place);
    const id = formerNumberOf(former, place);
    if (into && id) {
      if (id === into.value) return [];
      const merged = mergeOfVisit(context, former, { id, into });
      if (place !== usual) return [{ ...merged, given: 'present' }];
      const survivor = encounterOf(context, { id: into.value, patient_id: patientId }, {});
      return isOnlyAbout ? [...survivor, merged] : [merged];
    }
    if (place === usual && isOnlyAbout) {
      const [missing, what] = id
        ? [place.replace('-', '^1^'), 'surviving']
        : [former.at(FORMER[place]), 'former'];
      context.refuse('101', missing, `Send the ${what} number.`);
    }
  }
  return [];
}

function mergeOfVisit(
  context: MappingContext,
  former: Segment,
  { id, into }: { id: string; into: Sourced<string> },
): MergeOperation {
  return {
    ...{ type: 'merge', kind: 'encounter', id, into: into.value, at: former.at() },
    ...voidSaid(context, 'Merged'),
  };
}

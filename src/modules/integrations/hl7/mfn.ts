import type { Operation } from '../operations.ts';
import { type MapEvent, type MappingContext, recordOperation, Sourced, sourced } from './context.ts';
import { addressFields, addressOf, emailOf, nameOf, phoneOf } from './dataTypes.ts';
import type { Repetition, Segment } from './parser.ts';
import { isNpi } from './records.ts';

/** Master file events (HL7 table 0180) after which a record is no longer in use. */
const ENDED = new Set(['MDL', 'MDC']);

/**
 * Returns the operations for each entry of a master file (HL7 v2.5.1, chapter 8). One that is deleted or deactivated
 * stays: encounters refer to it.
 */
function eachEntry(segment: string, read: (one: MappingContext, entry: Segment) => Operation[]): MapEvent {
  return (context) =>
    context.groups('MFE').flatMap((one) => {
      const event = one.message.first('MFE');
      const entry = one.message.first(segment);
      if (event && ENDED.has(event.value(1) ?? '')) {
        one.warn('103', event.at(1), 'Records stay, as others refer to them, so this is ignored.');
        return [];
      }
      if (entry) return read(one, entry);
      one.refuse('100', event?.at() ?? 'MFE^1', `Send an ${segment} segment after it.`);
      return [];
    });
}

/** A practitioner, whose id is the primary key of the entry, as other messages have it in XCN. */
function practitioner(context: MappingContext, staff: Segment): Operation[] {
  const { message } = context;
  const [event, details] = [message.first('MFE'), message.first('PRA')];
  const id = sourced(staff.value(1) ?? event?.value(4), staff.value(1) ? staff.at(1, 1) : event?.at(4, 1));
  const { first, last, repetition } = nameOf(staff, 3);
  if (!id?.value) context.refuse('101', staff.at(1), 'Send the key.');
  if (!last?.value) context.refuse('101', staff.at(3, 1, repetition), 'Send the family name.');
  if (!first?.value) context.refuse('101', staff.at(3, 2, repetition), 'Send the given name.');
  if (!id?.value || !first?.value || !last?.value) return [];
  const ways = [...staff.repetitions(10), ...staff.repetitions(15)];
  const fields = {
    id: new Sourced(id.value, id.origin),
    ...{ first_name: first, last_name: last, npi: npiIn(staff, details) },
    ...{ phone: phoneOf(ways), email: emailOf(ways) },
    specialty: sourced(details?.value(5), details?.at(5, 1)),
    ...addressFields(addressOf(staff, 11)),
  };
  return [recordOperation('provider', staff.at(), fields)];
}

/** Returns the NPI among the numbers of a practitioner: in PRA-6 by its type, in STF-2 by type or authority. */
function npiIn(staff: Segment, details: Segment | undefined): Sourced | undefined {
  const isTyped = (one: Repetition) => one.value(2) === 'NPI' && /^\d{10}$/.test(one.value(1) ?? '');
  const found =
    details?.repetitions(6).find(isTyped) ??
    staff.repetitions(2).find((one) => isNpi(one, { authority: 4, type: 5 }));
  return sourced(found?.value(1), found?.at(1));
}

/** A place of a facility: only one that is no unit, room or bed of it describes the facility itself. */
function location(context: MappingContext, place: Segment): Operation[] {
  const id = place.value(1, 4);
  if (!id) {
    context.warn('101', place.at(1, 4), 'The location names no facility, so it is ignored.');
    return [];
  }
  const isPart = [1, 2, 3].some((component) => place.value(1, component));
  const name =
    sourced(place.value(4), place.at(4, 1)) ?? (isPart ? undefined : sourced(place.value(2), place.at(2, 1)));
  if (!name?.value) {
    context.warn('101', place.at(4), 'The location does not name its organization, so it is ignored.');
    return [];
  }
  const fields = {
    id: new Sourced(id, { at: place.at(1, 4) }),
    ...{ name, phone: phoneOf(place.repetitions(6)) },
    ...addressFields(addressOf(place, 5)),
  };
  return [recordOperation('facility', place.at(), fields, isPart)];
}

/** Master files (HL7 v2.5.1, chapter 8). */
export const masterFileActions = {
  practitioners: eachEntry('STF', practitioner),
  locations: eachEntry('LOC', location),
};

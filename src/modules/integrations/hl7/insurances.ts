import { mappingPlaces } from '../mapping.ts';
import type { RecordOperation } from '../operation.ts';
import { addressOf } from './addresses.ts';
import { isSsn } from './assignedBy.ts';
import { phoneOf } from './contacts.ts';
import type { MappingContext } from './MappingContext.ts';
import { nameOf } from './names.ts';
import { placeOf } from './placeOf.ts';
import { type InsuranceFields, recordOperation } from './recordOperation.ts';
import type { Segment, Value } from './Segment.ts';
import { type Told, told, unlessCleared } from './Told.ts';

const RANKS = ['primary_insurance', 'secondary_insurance', 'tertiary_insurance'] as const;

/** HL7 table 0063 and what X12 senders write for it (relationship codes 18, 01 and 19); the rest are `other`. */
const RELATIONSHIPS: Partial<Record<string, string>> = {
  ...{ SEL: 'self', S: 'self', SELF: 'self', '18': 'self' },
  ...{ SPO: 'spouse', SPOUSE: 'spouse', '01': 'spouse' },
  ...{ CHD: 'child', C: 'child', CHILD: 'child', NCH: 'child', SCH: 'child', '19': 'child' },
};

/**
 * Returns what a message says about who pays for its patient: insurances by their rank, and the payers that they
 * name, which must exist first.
 */
export function insurancesOf(context: MappingContext): {
  payers: RecordOperation[];
  insurances: Record<string, InsuranceFields | Told>;
} {
  const payers: RecordOperation[] = [];
  const insurances: Record<string, InsuranceFields | Told> = {};
  for (const [rank, segment] of ranked(context)) {
    const { payer_id: place } = context.source.mapping ?? {};
    const { field } = placeOf(place ?? mappingPlaces.payer_id[0]);
    const said = told(segment.value(field), segment.at(field, 1), place && 'mapping.payer_id');
    const payerId = unlessCleared(said);
    if (said === undefined) {
      context.refuse('101', segment.at(field), "Send the insurance company's identifier.");
    } else if (payerId === undefined) {
      insurances[rank] = said;
    } else {
      payers.push(...payerOf(segment, payerId));
      insurances[rank] = insuranceOf(context, segment, payerId);
    }
  }
  return { payers, insurances };
}

/**
 * Returns the insurances by rank: from IN1-22, or otherwise IN1-1, in whatever order they come. One whose rank is
 * taken, or is invalid, gets the next free one; a record has three.
 */
function ranked(context: MappingContext): Map<(typeof RANKS)[number], Segment> {
  const wishOf = (segment: Segment) =>
    [22, 1].map((field) => Number(segment.value(field))).find((rank) => rank >= 1) ?? Number.MAX_SAFE_INTEGER;
  const all = context.message.all('IN1').toSorted((a, b) => wishOf(a) - wishOf(b));
  const found = new Map<(typeof RANKS)[number], Segment>();
  for (const segment of all) {
    const wished = RANKS[wishOf(segment) - 1];
    const rank = wished && !found.has(wished) ? wished : RANKS.find((one) => !found.has(one));
    if (rank === undefined) {
      context.warn(
        '103',
        segment.at(1),
        'A patient can have at most three insurances, so this one is ignored.',
      );
    } else found.set(rank, segment);
  }
  return found;
}

function payerOf(segment: Segment, id: Told<string>): RecordOperation[] {
  const name = told(segment.value(4), segment.at(4, 1));
  if (!name?.value) return [];
  const address = addressOf(segment, 5);
  const fields = {
    id,
    name,
    contact_phone: phoneOf(segment.repetitions(7)),
    address_line1: address.street,
    address_line2: address.line2,
    city: address.city,
    state: address.state,
    zip_code: address.zip,
    country: address.country,
  };
  return [recordOperation('payer', segment.at(), fields, true)];
}

function insuranceOf(context: MappingContext, segment: Segment, payerId: Told<string>): InsuranceFields {
  const { policy_number: place } = context.source.mapping ?? {};
  const name = nameOf(segment, 16);
  const address = addressOf(segment, 19);
  return {
    payer_id: payerId,
    policy_number: numberIn(
      segment,
      place ?? mappingPlaces.policy_number[0],
      place && 'mapping.policy_number',
    ),
    group_number: told(segment.value(8), segment.at(8, 1)),
    effective_date: context.day(segment, 12),
    termination_date: context.day(segment, 13),
    subscriber_id: numberIn(segment, 'IN1-49'),
    subscriber_first_name: name.first,
    subscriber_last_name: name.last,
    subscriber_relationship: told(relationshipOf(segment.value(17)), segment.at(17, 1)),
    subscriber_date_of_birth: context.day(segment, 18),
    subscriber_address_line_1: address.street,
    subscriber_city: address.city,
    subscriber_state: address.state,
    subscriber_zip_code: address.zip,
    subscriber_country: address.country,
  };
}

/** Returns the first number at a place that is not a Social Security number. */
function numberIn(segment: Segment, place: string, setting?: string): Told | undefined {
  const found = segment.repetitions(placeOf(place).field).find((one) => !isSsn(one));
  return told(found?.value(1), found?.at(1), setting);
}

function relationshipOf(code: Value): Value {
  return code && (RELATIONSHIPS[code.toUpperCase()] ?? 'other');
}

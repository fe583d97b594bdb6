import { mappingPlaces } from '../mapping.ts';
import type { RecordOperation } from '../operations.ts';
import {
  dayOf,
  type InsuranceFields,
  type MappingContext,
  recordOperation,
  Sourced,
  sourced,
  timeProblem,
  unlessCleared,
} from './context.ts';
import {
  addressFields,
  addressOf,
  assignedBy,
  emailOf,
  isSsn,
  lastFourOf,
  nameOf,
  phoneOf,
  placeOf,
} from './dataTypes.ts';
import type { Repetition, Segment, Value } from './parser.ts';

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
function insurancesOf(context: MappingContext): {
  payers: RecordOperation[];
  insurances: Record<string, InsuranceFields | Sourced>;
} {
  const payers: RecordOperation[] = [];
  const all = ranked(context);
  const insurances: Record<string, InsuranceFields | Sourced> = ended(context, new Set(all.keys()));
  for (const [rank, segment] of all) {
    const { payer_id: place } = context.source.mapping ?? {};
    const { field } = placeOf(place ?? mappingPlaces.payer_id[0]);
    const said = sourced(segment.value(field), segment.at(field, 1), place && 'mapping.payer_id');
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

/** Returns the ranks that end, as a source that sends whole sets names insurances, and none of these ranks. */
function ended(context: MappingContext, named: ReadonlySet<string>): Record<string, Sourced<null>> {
  if (context.source.insurance_sets !== 'whole' || named.size === 0) return {};
  const origin = { at: 'IN1^1', setting: 'insurance_sets' };
  const others = RANKS.filter((rank) => !named.has(rank));
  return Object.fromEntries(others.map((rank) => [rank, new Sourced(null, origin)]));
}

function payerOf(segment: Segment, id: Sourced<string>): RecordOperation[] {
  const name = sourced(segment.value(4), segment.at(4, 1));
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

function insuranceOf(context: MappingContext, segment: Segment, payerId: Sourced<string>): InsuranceFields {
  const { policy_number: place } = context.source.mapping ?? {};
  const name = nameOf(segment, 16);
  const address = addressOf(segment, 19);
  return {
    payer_id: payerId,
    policy_number: place ? numberIn(segment, place, 'mapping.policy_number') : memberNumberIn(segment),
    group_number: sourced(segment.value(8), segment.at(8, 1)),
    effective_date: context.day(segment, 12),
    termination_date: context.day(segment, 13),
    subscriber_id: numberIn(segment, 'IN1-49'),
    subscriber_first_name: name.first,
    subscriber_last_name: name.last,
    subscriber_relationship: sourced(relationshipOf(segment.value(17)), segment.at(17, 1)),
    subscriber_date_of_birth: context.day(segment, 18),
    subscriber_address_line_1: address.street,
    subscriber_city: address.city,
    subscriber_state: address.state,
    subscriber_zip_code: address.zip,
    subscriber_country: address.country,
  };
}

/** Returns the number of the policy, or where it has none that of its member; never that of the plan (IN1-2). */
function memberNumberIn(segment: Segment): Sourced | undefined {
  return numberIn(segment, mappingPlaces.policy_number[0]) ?? numberIn(segment, 'IN1-49');
}

/** Returns the first number at a place that is not a Social Security number. */
function numberIn(segment: Segment, place: string, setting?: string): Sourced | undefined {
  const found = segment.repetitions(placeOf(place).field).find((one) => !isSsn(one));
  return sourced(found?.value(1), found?.at(1), setting);
}

function relationshipOf(code: Value): Value {
  return code && (RELATIONSHIPS[code.toUpperCase()] ?? 'other');
}

/** HL7 table 0001; `U`, unknown, says nothing. */
const GENDERS: Partial<Record<string, string>> = {
  M: 'male',
  F: 'female',
  O: 'other',
  A: 'other',
  N: 'other',
  X: 'other',
};
const UNKNOWN = 'U';

/**
 * Returns the identifiers of a field (CX) from which the id is taken: the one of the source's authority, and the
 * first one, or that of the same authority and type as another identifier.
 */
function identifiersIn(
  { source }: MappingContext,
  segment: Segment | undefined,
  field: number,
  like?: Repetition,
) {
  const all = segment?.repetitions(field) ?? [];
  const isUsable = (one: Repetition) => Boolean(one.value(1)) && !isSsn(one);
  const isAlike = (one: Repetition) =>
    isUsable(one) && one.value(4) === like?.value(4) && one.value(5) === like?.value(5);
  const first = (like && all.find(isAlike)) ?? all.find(isUsable);
  return { ofAuthority: assignedBy(source.patient_authority, all, isUsable), first };
}

/** Returns the id of the patient, with its place where it is that of the message. */
export function sourcedPatientId(context: MappingContext, id: string): Sourced<string> {
  const { ofAuthority, first } = identifiersIn(context, context.message.first('PID'), 3);
  const found = ofAuthority ?? first;
  if (found?.value(1) !== id) return new Sourced(id, {});
  return new Sourced(id, { at: found.at(1), ...(ofAuthority && { setting: 'patient_authority' }) });
}

/** Returns the id of the patient whom a message is about; undefined where it has none, which is an error. */
export function patientIdOf(context: MappingContext): string | undefined {
  const segment = context.message.first('PID');
  if (segment === undefined) {
    context.refuse('100', 'PID^1', 'Send a PID segment.');
    return undefined;
  }
  return patientIdIn(context, segment, 3);
}

/** Returns the former id of the patient (MRG-1): of several the one that is like the present one. */
export function formerPatientIdOf(context: MappingContext, former: Segment): string | undefined {
  const { ofAuthority, first } = identifiersIn(context, context.message.first('PID'), 3);
  return patientIdIn(context, former, 1, ofAuthority ?? first);
}

/** Returns the id of a patient in a field of identifiers (CX); undefined where there is none, which is an error. */
export function patientIdIn(
  context: MappingContext,
  segment: Segment,
  field: number,
  like?: Repetition,
): string | undefined {
  const { patient_authority: authority } = context.source;
  const { ofAuthority, first } = identifiersIn(context, segment, field, like);
  if (authority !== undefined && ofAuthority === undefined && first) {
    context.warn(
      '204',
      segment.at(field),
      'No identifier is from the authority configured for the source, so the first one is used.',
    );
  }
  const id = (ofAuthority ?? first)?.value(1) ?? undefined;
  if (id === undefined) {
    const isOnlySsn = segment.repetitions(field).some(isSsn);
    const text = isOnlySsn
      ? 'The only identifier is a Social Security number, which is not accepted. Send another one.'
      : "Send the patient's identifier.";
    context.refuse('101', segment.at(field), text);
  }
  return id;
}

/**
 * Returns what a message says about its patient and who pays, payers first.
 *
 * - `whole`: it is about the patient, and must contain the name and the date of birth.
 * - `ifNamed`: it may do no more than identify the patient; then nothing of that is used, but insurances need the
 *   name.
 * - `ifAbsent`: it may do no more than identify the patient, and what it says is mentioned in passing.
 */
export function patientOf(
  context: MappingContext,
  id: string,
  how: 'whole' | 'ifNamed' | 'ifAbsent',
): RecordOperation[] {
  const segment = context.message.first('PID') as Segment;
  const identity = identityOf(segment);
  if (!identity.first_name?.value || !identity.last_name?.value || !identity.date_of_birth) {
    const isInsured = context.message.first('IN1') !== undefined;
    if (how === 'ifAbsent' || (how === 'ifNamed' && !isInsured)) return [];
    refuseIdentity(context, segment);
  }
  const fields = {
    id: sourcedPatientId(context, id),
    ...identity,
    ...demographics(context, segment),
  };
  if (how === 'ifAbsent') return [recordOperation('patient', segment.at(), fields, true)];
  const { payers, insurances } = insurancesOf(context);
  return [...payers, recordOperation('patient', segment.at(), { ...fields, ...insurances })];
}

/** Returns what a patient must have. */
function identityOf(segment: Segment) {
  const { first, last } = nameOf(segment, 5);
  const born = segment.value(7);
  const day = born ? dayOf(born) : undefined;
  return { first_name: first, last_name: last, date_of_birth: sourced(day, segment.at(7, 1)) };
}

function refuseIdentity(context: MappingContext, segment: Segment): void {
  const { first, last, repetition } = nameOf(segment, 5);
  if (!last?.value) context.refuse('101', segment.at(5, 1, repetition), 'Send the family name.');
  if (!first?.value) context.refuse('101', segment.at(5, 2, repetition), 'Send the given name.');
  const born = segment.value(7);
  if (!born) {
    context.refuse('101', segment.at(7), 'Send the date of birth.');
    return;
  }
  const problem = timeProblem(born, true);
  if (problem) context.refuse('102', segment.at(7), `${problem} Send the date of birth as YYYYMMDD.`);
}

function demographics(context: MappingContext, segment: Segment) {
  const address = addressOf(segment, 11);
  const ways = [...segment.repetitions(13), ...segment.repetitions(14)];
  return {
    gender: sourced(genderOf(context, segment), segment.at(8, 1)),
    phone: phoneOf(ways),
    email: emailOf(ways),
    ssn_last4: ssnLast4Of(context, segment),
    ...addressFields(address),
    state: stateOf(context, segment, address.state),
  };
}

function genderOf(context: MappingContext, segment: Segment): Value {
  const code = segment.value(8);
  if (code === null || code === undefined || code === UNKNOWN) return code === null ? null : undefined;
  const gender = GENDERS[code.toUpperCase()];
  if (gender === undefined)
    context.warn('103', segment.at(8), 'The sex is not M, F, O, A, N, X or U, so it is ignored.');
  return gender;
}

/** Only this part of the number is ever read, wherever it is. */
function ssnLast4Of(context: MappingContext, segment: Segment): Sourced | undefined {
  const typed = segment.repetitions(3).find(isSsn);
  const own = sourced(segment.value(19), segment.at(19, 1));
  const number = unlessCleared(own) ?? unlessCleared(sourced(typed?.value(1), typed?.at(1)));
  if (number === undefined) return own;
  const lastFour = lastFourOf(number.value);
  if (lastFour === undefined) {
    context.warn(
      '102',
      own?.value ? segment.at(19) : segment.at(3),
      'A Social Security number has nine digits, or its last four, so this is ignored.',
    );
  }
  return sourced(lastFour, number.origin.at);
}

function stateOf(context: MappingContext, segment: Segment, state: Sourced | undefined): Sourced | undefined {
  if (!state?.value || [...state.value].length === 2) return state;
  context.warn('103', segment.at(11), 'The state is not a two-character code, so it is ignored.');
  return undefined;
}

import type { RecordOperation } from '../../operation.ts';
import type { MappingContext } from '../MappingContext.ts';
import type { Segment, Value } from '../message/Segment.ts';
import { addressOf } from '../values/addresses.ts';
import { assignedBy, isSsn, lastFourOf } from '../values/assignedBy.ts';
import { emailOf, phoneOf } from '../values/contacts.ts';
import { nameOf } from '../values/names.ts';
import { given, said } from '../values/said.ts';
import { dayOf } from '../values/timestamps.ts';
import { insurancesOf } from './insurances.ts';

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

/** The id of the patient whom a message is about; undefined where it has none, which is an error. */
export function patientIdOf(context: MappingContext): string | undefined {
  const segment = context.message.first('PID');
  if (segment === undefined) {
    context.refuse('100', 'PID^1', 'Send the segment PID.');
    return undefined;
  }
  return patientIdIn(context, segment, 3);
}

/** The id of a patient in a field of identifiers (CX); undefined where there is none, which is an error. */
export function patientIdIn(context: MappingContext, segment: Segment, field: number): string | undefined {
  const { patient_authority: authority } = context.source;
  const identifiers = segment.repetitions(field).filter((one) => one.value(1) && !isSsn(one));
  const ofAuthority = assignedBy(authority, identifiers);
  if (authority !== undefined && ofAuthority === undefined && identifiers.length > 0) {
    context.warn(
      '204',
      segment.at(field),
      'No identifier is of the authority that the source names: the first one is taken.',
    );
  }
  const id = (ofAuthority ?? identifiers[0])?.value(1) ?? undefined;
  if (id === undefined) {
    context.refuse(
      '101',
      segment.at(field),
      "Send the patient's identifier; a Social Security number is none.",
    );
  }
  return id;
}

/**
 * What a message says of its patient and of who pays, payers first.
 *
 * `segment`: the PID that tells of the patient, where there are several.
 *
 * - `whole`: it is about the patient, and has to say the name and the date of birth.
 * - `ifNamed`: it may identify the patient and say no more; then nothing is taken of that, but insurances need the name.
 * - `ifAbsent`: it may identify the patient and say no more, and what it says is said in passing.
 */
export function patientOf(
  context: MappingContext,
  id: string,
  how: 'whole' | 'ifNamed' | 'ifAbsent',
  segment = context.message.first('PID') as Segment,
): RecordOperation[] {
  const identity = identityOf(segment);
  if (!identity.first_name || !identity.last_name || !identity.date_of_birth) {
    const isInsured = context.message.first('IN1') !== undefined;
    if (how === 'ifAbsent' || (how === 'ifNamed' && !isInsured)) return [];
    refuseIdentity(context, segment);
  }
  const fields = { id, ...identity, ...demographics(context, segment) };
  const record = { type: 'record', kind: 'patient', at: segment.at() } as const;
  if (how === 'ifAbsent') return [{ ...record, fields: given(fields), ifAbsent: true }];
  const { payers, insurances } = insurancesOf(context);
  return [...payers, { ...record, fields: said({ ...fields, ...insurances }) }];
}

/** What a patient has to have. */
function identityOf(segment: Segment) {
  const { first, last } = nameOf(segment, 5);
  const born = segment.value(7);
  return { first_name: first, last_name: last, date_of_birth: born ? dayOf(born) : undefined };
}

function refuseIdentity(context: MappingContext, segment: Segment): void {
  const { first, last, repetition } = nameOf(segment, 5);
  if (!last) context.refuse('101', segment.at(5, 1, repetition), 'Send the family name.');
  if (!first) context.refuse('101', segment.at(5, 2, repetition), 'Send the given name.');
  const born = segment.value(7);
  if (!born) context.refuse('101', segment.at(7), 'Send the date of birth.');
  else if (dayOf(born) === undefined) {
    context.refuse('102', segment.at(7), 'Send the whole date of birth: YYYYMMDD.');
  }
}

function demographics(context: MappingContext, segment: Segment) {
  const address = addressOf(segment, 11);
  const ways = [...segment.repetitions(13), ...segment.repetitions(14)];
  return {
    gender: genderOf(context, segment),
    phone: phoneOf(ways),
    email: emailOf(ways),
    ssn_last4: ssnLast4Of(context, segment),
    address_line_1: address.street,
    address_line_2: address.line2,
    city: address.city,
    state: stateOf(context, segment, address.state),
    zip_code: address.zip,
    country: address.country,
  };
}

function genderOf(context: MappingContext, segment: Segment): Value {
  const code = segment.value(8);
  if (code === null || code === undefined || code === UNKNOWN) return code === null ? null : undefined;
  const gender = GENDERS[code.toUpperCase()];
  if (gender === undefined)
    context.warn('103', segment.at(8), 'Is not a code of table 0001: it is left out.');
  return gender;
}

/** Of the number, wherever it stands, no more than that is read. */
function ssnLast4Of(context: MappingContext, segment: Segment): Value {
  const typed = segment.repetitions(3).find(isSsn);
  const number = segment.value(19) ?? typed?.value(1) ?? segment.value(19);
  if (number === null || number === undefined) return number;
  const lastFour = lastFourOf(number);
  if (lastFour === undefined) {
    context.warn(
      '102',
      segment.value(19) ? segment.at(19) : segment.at(3),
      'Is not a Social Security number: it is left out.',
    );
  }
  return lastFour;
}

function stateOf(context: MappingContext, segment: Segment, state: Value): Value {
  if (state === undefined || state === null || [...state].length === 2) return state;
  context.warn('103', segment.at(11), 'The state is not a code of two characters: it is left out.');
  return undefined;
}

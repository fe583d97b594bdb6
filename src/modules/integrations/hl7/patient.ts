import type { RecordOperation } from '../operation.ts';
import { addressOf } from './addresses.ts';
import { assignedBy, isSsn, lastFourOf } from './assignedBy.ts';
import { emailOf, phoneOf } from './contacts.ts';
import { insurancesOf } from './insurances.ts';
import type { MappingContext } from './MappingContext.ts';
import { nameOf } from './names.ts';
import { recordOperation } from './recordOperation.ts';
import type { Repetition, Segment, Value } from './Segment.ts';
import { Told, told, unlessCleared } from './Told.ts';
import { dayOf } from './timestamps.ts';

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
 * first one.
 */
function identifiersIn({ source }: MappingContext, segment: Segment | undefined, field: number) {
  const all = segment?.repetitions(field) ?? [];
  const isUsable = (one: Repetition) => Boolean(one.value(1)) && !isSsn(one);
  return { ofAuthority: assignedBy(source.patient_authority, all, isUsable), first: all.find(isUsable) };
}

/** Returns the id of the patient, with its place where it is that of the message, or of that PID. */
export function patientIdTold(
  context: MappingContext,
  id: string,
  segment = context.message.first('PID'),
): Told<string> {
  const { ofAuthority, first } = identifiersIn(context, segment, 3);
  const found = ofAuthority ?? first;
  if (found?.value(1) !== id) return new Told(id, {});
  return new Told(id, { at: found.at(1), ...(ofAuthority && { setting: 'patient_authority' }) });
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

/** Returns the id of a patient in a field of identifiers (CX); undefined where there is none, which is an error. */
export function patientIdIn(context: MappingContext, segment: Segment, field: number): string | undefined {
  const { patient_authority: authority } = context.source;
  const { ofAuthority, first } = identifiersIn(context, segment, field);
  if (authority !== undefined && ofAuthority === undefined && first) {
    context.warn(
      '204',
      segment.at(field),
      'No identifier is from the authority configured for the source, so the first one is used.',
    );
  }
  const id = (ofAuthority ?? first)?.value(1) ?? undefined;
  if (id === undefined) {
    context.refuse(
      '101',
      segment.at(field),
      "Send the patient's identifier; a Social Security number is not accepted.",
    );
  }
  return id;
}

/**
 * Returns what a message says about its patient and who pays, payers first.
 *
 * `segment`: the PID that describes the patient, where there are several.
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
  segment = context.message.first('PID') as Segment,
): RecordOperation[] {
  const identity = identityOf(segment);
  if (!identity.first_name?.value || !identity.last_name?.value || !identity.date_of_birth) {
    const isInsured = context.message.first('IN1') !== undefined;
    if (how === 'ifAbsent' || (how === 'ifNamed' && !isInsured)) return [];
    refuseIdentity(context, segment);
  }
  const fields = { id: patientIdTold(context, id, segment), ...identity, ...demographics(context, segment) };
  if (how === 'ifAbsent') return [recordOperation('patient', segment.at(), fields, true)];
  const { payers, insurances } = insurancesOf(context);
  return [...payers, recordOperation('patient', segment.at(), { ...fields, ...insurances })];
}

/** Returns what a patient must have. */
function identityOf(segment: Segment) {
  const { first, last } = nameOf(segment, 5);
  const born = segment.value(7);
  const day = born ? dayOf(born) : undefined;
  return { first_name: first, last_name: last, date_of_birth: told(day, segment.at(7, 1)) };
}

function refuseIdentity(context: MappingContext, segment: Segment): void {
  const { first, last, repetition } = nameOf(segment, 5);
  if (!last?.value) context.refuse('101', segment.at(5, 1, repetition), 'Send the family name.');
  if (!first?.value) context.refuse('101', segment.at(5, 2, repetition), 'Send the given name.');
  const born = segment.value(7);
  if (!born) context.refuse('101', segment.at(7), 'Send the date of birth.');
  else if (dayOf(born) === undefined) {
    context.refuse('102', segment.at(7), 'Send the full date of birth: YYYYMMDD.');
  }
}

function demographics(context: MappingContext, segment: Segment) {
  const address = addressOf(segment, 11);
  const ways = [...segment.repetitions(13), ...segment.repetitions(14)];
  return {
    gender: told(genderOf(context, segment), segment.at(8, 1)),
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
    context.warn('103', segment.at(8), 'This is not a code of table 0001, so it is ignored.');
  return gender;
}

/** Only this part of the number is ever read, wherever it is. */
function ssnLast4Of(context: MappingContext, segment: Segment): Told | undefined {
  const typed = segment.repetitions(3).find(isSsn);
  const own = told(segment.value(19), segment.at(19, 1));
  const number = unlessCleared(own) ?? unlessCleared(told(typed?.value(1), typed?.at(1)));
  if (number === undefined) return own;
  const lastFour = lastFourOf(number.value);
  if (lastFour === undefined) {
    context.warn(
      '102',
      own?.value ? segment.at(19) : segment.at(3),
      'This is not a Social Security number, so it is ignored.',
    );
  }
  return told(lastFour, number.origin.at);
}

function stateOf(context: MappingContext, segment: Segment, state: Told | undefined): Told | undefined {
  if (!state?.value || [...state.value].length === 2) return state;
  context.warn('103', segment.at(11), 'The state is not a two-character code, so it is ignored.');
  return undefined;
}

import { requiredDate } from '../../records/fields.ts';
import { instantOf } from '../../records/instantOf.ts';
import { validationError } from '../../records/validate.ts';
import { type Html, html } from '../shell/html.ts';
import { presentReader } from '../shell/reader.ts';
import type { Visit } from '../shell/route.ts';
import { textOf } from '../shell/sentForm.ts';
import { type InputField, input } from '../ui/formFields.ts';
import { momentOfClock, zonedClock } from './zonedTime.ts';

/** The hidden field that says in which time zone the moments of a form were typed; without it they are in UTC. */
export const zoneParameter = 'time_zone';

/** The fields of queries that hold moments. */
const momentParameters = ['from', 'to', 'as_of'];

const local = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?$/;

/** The reader's time zone, as fields and links name it. */
export function zoneName(): string {
  return (presentReader().timeZone ?? 'UTC').replaceAll('_', ' ');
}

/** Fields of date and time of one form, in the reader's time zone, which each of them names. */
export function momentInputs(...fields: readonly Omit<InputField, 'type'>[]): Html {
  const { timeZone } = presentReader();
  return html`${fields.map((field) =>
    input({ ...field, label: `${field.label} (${zoneName()})`, type: 'datetime-local' }),
  )}${timeZone && html`<input type="hidden" name="${zoneParameter}" value="${timeZone}">`}`;
}

/** A moment (ISO 8601), as such a field shows it; what is none stays as it was sent. */
export function shownMoment(sent: string | undefined): string | undefined {
  if (!requiredDate('').safeParse(sent).success) return sent;
  return zonedClock(instantOf(sent as string), presentReader().timeZone ?? 'UTC');
}

/** A query with the moments of its form in UTC, and without the time zone they were typed in. Throws `validation_failed`. */
export function queryInUtc<Query extends Record<string, unknown>>(query: Query): Query {
  const { [zoneParameter]: timeZone, ...others } = query;
  if (timeZone === undefined) return query;
  const moments = momentParameters
    .filter((name) => typeof others[name] === 'string')
    .map((name) => [name, inUtc(others[name] as string, timeZone)]);
  return { ...others, ...Object.fromEntries(moments) } as Query;
}

/** The moment that a field of a form was sent with, in UTC; empty when it was, and what is no moment as it was sent. */
export function momentOf(form: Visit['form'], name: string): string {
  return inUtc(textOf(form, name), form[zoneParameter] ?? 'UTC');
}

function inUtc(sent: string, timeZone: unknown): string {
  if (!local.test(sent) || !requiredDate('').safeParse(sent).success) return sent;
  return new Date(momentOfClock(instantOf(sent), knownZone(timeZone))).toISOString();
}

function knownZone(sent: unknown): string {
  const isKnown = sent === 'UTC' || Intl.supportedValuesOf('timeZone').includes(String(sent));
  if (isKnown && typeof sent === 'string') return sent;
  throw validationError([
    { field: zoneParameter, message: 'must be a time zone from the list on the account page' },
  ]);
}

import { requiredDate } from '../../domain/records/schema/fields.ts';
import { instantOf } from '../../domain/records/schema/isoDates.ts';
import { clockIn } from '../../domain/records/schema/timeZones.ts';
import { validationError } from '../../domain/records/schema/validation.ts';
import { type InputField, input } from './forms.ts';
import { type Html, html, startOfDay, textOf, type Visit, viewerPreferences, zonedClock } from './page.ts';

/** The hidden field that says in which time zone the moments of a form were typed; without it they are in UTC. */
export const zoneParameter = 'time_zone';

/** The query fields that hold moments. */
const momentParameters = ['from', 'to', 'as_of'];

const local = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?$/;

/** Returns the reader's time zone, as named by fields and links. */
function zoneName(): string {
  return (viewerPreferences().timeZone ?? 'UTC').replaceAll('_', ' ');
}

/** Returns the date and time fields of one form, in the reader's time zone, which each of them names. */
export function momentInputs(...fields: readonly Omit<InputField, 'type'>[]): Html {
  const { timeZone } = viewerPreferences();
  return html`${fields.map((field) =>
    input({ ...field, label: `${field.label} (${zoneName()})`, type: 'datetime-local' }),
  )}${timeZone && html`<input type="hidden" name="${zoneParameter}" value="${timeZone}">`}`;
}

/** Returns a moment (ISO 8601) as such a field shows it; an invalid one stays as sent. */
export function shownMoment(sent: string | undefined): string | undefined {
  if (!requiredDate('').safeParse(sent).success) return sent;
  return zonedClock(instantOf(sent as string), viewerPreferences().timeZone ?? 'UTC');
}

/**
 * Returns a query with the moments of its form in UTC, and without the time zone in which they were typed. Throws
 * `validation_failed`.
 */
export function queryInUtc<Query extends Record<string, unknown>>(query: Query): Query {
  const { [zoneParameter]: timeZone, ...others } = query;
  if (timeZone === undefined) return query;
  const moments = momentParameters
    .filter((name) => typeof others[name] === 'string')
    .map((name) => [name, inUtc(others[name] as string, timeZone)]);
  return { ...others, ...Object.fromEntries(moments) } as Query;
}

/**
 * Returns the moment that a field of a form was sent with, in UTC; an empty one as empty, and an invalid one as sent.
 */
export function momentOf(form: Visit['form'], name: string): string {
  return inUtc(textOf(form, name), form[zoneParameter] ?? 'UTC');
}

/** Whether a field of a form was sent as it shows a moment (ISO 8601), if there is one, to the minute. */
export function showsMoment(form: Visit['form'], name: string, moment: string | undefined): boolean {
  if (moment === undefined) return false;
  const shown = zonedClock(instantOf(moment), supportedZone(form[zoneParameter] ?? 'UTC'));
  return textOf(form, name) === shown.slice(0, 'YYYY-MM-DDTHH:MM'.length);
}

function inUtc(sent: string, timeZone: unknown): string {
  if (!local.test(sent) || !requiredDate('').safeParse(sent).success) return sent;
  return new Date(clockIn(instantOf(sent), supportedZone(timeZone))).toISOString();
}

function supportedZone(sent: unknown): string {
  const isKnown = sent === 'UTC' || Intl.supportedValuesOf('timeZone').includes(String(sent));
  if (isKnown && typeof sent === 'string') return sent;
  throw validationError([
    { field: zoneParameter, message: 'must be a time zone from the list on the account page' },
  ]);
}

const DAY_MS = 86_400_000;

/**
 * Returns links to what a list shows since a usual moment: the present day is that of the reader. `sent` is what
 * limits the list.
 */
export function sinceLinks(path: string, sent: Record<string, string>): Html {
  const now = Date.now();
  const { to: _to, page_token: _token, ...kept } = sent;
  const link = (text: string, from: number) => {
    const query = new URLSearchParams({ ...kept, from: new Date(from).toISOString() });
    return html`<a href="${path}?${query.toString()}">${text}</a>`;
  };
  return html`<p class="line"><span class="muted">Since</span>
${link(`today (${zoneName()})`, startOfDay(now, viewerPreferences().timeZone ?? 'UTC'))}
${link('24 hours ago', now - DAY_MS)}
${link('7 days ago', now - 7 * DAY_MS)}</p>`;
}

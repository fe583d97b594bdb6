import { ruleOf } from '../../modules/readiness/rules/index.ts';
import type { RuleSettings } from '../../modules/readiness/rules/rule.ts';
import { type Html, type HtmlValue, html, viewerPreferences, zonedTime } from './page.ts';

/** Returns what a rule demands, one of a payer as in `settings`; for a rule that is in neither, its code. */
export function ruleTitle(code: string, settings?: Pick<RuleSettings, 'payerRules'>): string {
  return ruleOf(code, settings)?.title ?? code;
}

/** Returns a moment in the reader's time zone, to the minute; the exact one shows on hovering, and on paper. */
export function time(iso: string): Html {
  const { timeZone = 'UTC' } = viewerPreferences();
  return html`<time datetime="${iso}" title="${iso}">${zonedTime(iso, timeZone)}</time>`;
}

const dayFormat = new Intl.DateTimeFormat('en-US', {
  ...({ timeZone: 'UTC', year: 'numeric' } as const),
  ...({ month: 'short', day: 'numeric' } as const),
});

/** Returns the day of a date or date-time (ISO 8601), as it was written: `Mar 14, 2026`. */
export function dayText(date: string): string {
  return dayFormat.format(Date.parse(date.slice(0, 10)));
}

/** Returns the day of a date or date-time (ISO 8601); what was sent shows on hovering. */
export function day(date: string): Html {
  return html`<time datetime="${date}" title="${date}">${dayText(date)}</time>`;
}

const written = /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2}(?::\d{2}[\d.,]*)?)(Z|[+-]\d{2}:?\d{2})?)?$/;

/** Whether the calendar has a day: `Date.parse` accepts February 30 as a day of March. */
function isDay(date: string): boolean {
  const ms = Date.parse(date);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(date);
}

/**
 * Returns a date or date-time (ISO 8601) in words, in the zone in which it was written, without seconds that are zero; what was sent
 * shows on hovering. Undefined for any other text.
 */
export function writtenDate(sent: string): Html | undefined {
  const [, date, clock, zone = ''] = written.exec(sent) ?? [];
  if (date === undefined || !isDay(date)) return undefined;
  if (clock === undefined) return day(date);
  return html`<time datetime="${sent}" title="${sent}">${dayText(date)}, ${clock.replace(/(?<=:\d\d):00(?:[.,]0+)?$/, '')}${zone && ` ${zone === 'Z' ? 'UTC' : zone}`}</time>`;
}

const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** Returns a name as the beginning of a text that runs left to right, whichever way the name does. */
export function isolated(name: string): string {
  return rightToLeft.test(name) ? `\u200e\u2068${name}\u2069` : name;
}

/** Returns a value as it was sent, whichever way its script runs, without an effect on the text around it. */
export function bdi(text: string | number): Html {
  return html`<bdi>${text}</bdi>`;
}

/** Returns a value that a cell may cut off: it shows whole on hovering. */
export function wholeOnHovering(text: string): Html {
  return html`<bdi title="${text}">${text}</bdi>`;
}

/** Returns an id beside the name of what has it. */
export function idBeside(id: string): Html {
  return html`<small class="muted" title="${id}">${bdi(id)}</small>`;
}

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const units = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

/** Returns how long ago a moment was, or how far off it is; the moment itself shows on hovering. */
export function timeAgo(iso: string): Html {
  const seconds = (Date.parse(iso) - Date.now()) / 1000;
  const [unit, size] = units.find(([, one]) => Math.abs(seconds) >= one) ?? (['second', 1] as const);
  const text =
    unit === 'second' && seconds <= 0 ? 'just now' : relative.format(Math.round(seconds / size), unit);
  return html`<time datetime="${iso}" title="${iso}">${text}</time>`;
}

/** Returns a word for a state, with a colour of its own next to it. */
export function badge(text: string, tone: 'good' | 'bad' | 'neutral'): Html {
  return html`<span class="badge badge-${tone}">${text}</span>`;
}

/** Returns a text that programs use: an id, a key. */
export function code(text: string): Html {
  return html`<code dir="auto">${text}</code>`;
}

/** Returns what replaces an empty list, with what to do about it. */
export function empty(text: HtmlValue): Html {
  return html`<p class="empty">${text}</p>`;
}

/** Returns what replaces a list that cannot be shown yet, with the address for reloading the page. */
export function tryAgain(address: string): Html {
  return empty(html`This list is not up to date yet. Nothing is lost. <a href="${address}">Try again</a>`);
}

/** Returns what is shown below a list that leaves something out, with the ids of what is left out. */
export function leftOut(ids: readonly string[]): Html | undefined {
  if (ids.length === 0) return undefined;
  const shown = ids.map((id, at) => html`${at > 0 && ', '}${code(id)}`);
  return html`<p class="banner"><strong>Left out:</strong> ${shown}. This version of the service cannot read an event in their history. Nothing else is affected.</p>`;
}

/** Returns a text that is shown only now, with a button that copies it. */
export function secretOnce(label: string, value: string): Html {
  return html`<div class="secret">
<label for="secret-value">${label}</label>
<div class="secret-line"><input id="secret-value" type="text" readonly value="${value}" autocomplete="off" spellcheck="false"><button type="button" data-copy="secret-value">Copy</button></div>
</div>`;
}

import { type Span, spanNumber, spans } from '../../../projections/auditAggregation.ts';
import { validationError } from '../../domain/records/schema/validation.ts';
import { type Html, html, zonedTime } from './page.ts';
import { dayText } from './text.ts';

/** A period up to the present moment, and the bars in which it is shown. */
interface RangeShape {
  /** The text of the link to it. */
  title: string;
  /** As part of a sentence. */
  words: string;
  /** What one bar stands for. */
  per: string;
  span: Span;
  /** Spans per bar. */
  spansABar: number;
  bars: number;
}

export const ranges = {
  '1h': {
    title: '1 hour',
    words: 'the last 60 minutes',
    per: 'minute',
    span: 'minute',
    spansABar: 1,
    bars: 60,
  },
  '24h': { title: '24 hours', words: 'the last 24 hours', per: 'hour', span: 'hour', spansABar: 1, bars: 24 },
  '7d': { title: '7 days', words: 'the last 7 days', per: '6 hours', span: 'hour', spansABar: 6, bars: 28 },
  '30d': { title: '30 days', words: 'the last 30 days', per: 'day', span: 'day', spansABar: 1, bars: 30 },
} satisfies Record<string, RangeShape>;
export type RangeName = keyof typeof ranges;

/** The time of one bar. */
export interface BarTime {
  /** Milliseconds since 1970: at or after, and before. */
  from: number;
  to: number;
  /** The time, for people. */
  name: string;
}

/**
 * Returns the range that a query asks for; without any, one hour or `usual`. Throws `validation_failed` for an
 * unknown one.
 */
export function rangeOf(sent: unknown, usual: RangeName = '1h'): RangeName {
  if (sent === undefined) return usual;
  if (typeof sent === 'string' && Object.hasOwn(ranges, sent)) return sent as RangeName;
  throw validationError([{ field: 'range', message: `is one of ${Object.keys(ranges).join(', ')}` }]);
}

/** Returns the bars of a range, oldest first; the last one is not over yet. */
export function barTimes(name: RangeName): BarTime[] {
  const { span, spansABar, bars } = ranges[name];
  const first = spansABar * (Math.floor(spanNumber(span, Date.now()) / spansABar) + 1 - bars);
  return Array.from({ length: bars }, (_, at) => {
    const from = (first + at * spansABar) * spans[span].ms;
    return { from, to: from + spansABar * spans[span].ms, name: nameOf(span, from) };
  });
}

/** Returns a moment in ISO 8601. */
export function iso(ms: number): string {
  return new Date(ms).toISOString();
}

function nameOf(span: Span, from: number): string {
  const text = iso(from);
  if (span === 'minute') return `${text.slice(11, 16)} UTC`;
  return span === 'day' ? dayText(text) : zonedTime(text, 'UTC');
}

/** Returns links to the other ranges of a page; `pathOf` is below `/dashboard`. */
export function rangeLinks(current: RangeName, pathOf: (range: RangeName) => string): Html {
  return html`<nav aria-label="Range"><p class="line">${(Object.keys(ranges) as RangeName[]).map(
    (range) =>
      html`<a href="/dashboard${pathOf(range)}"${range === current && html` aria-current="page"`}>${ranges[range].title}</a> `,
  )}</p></nav>`;
}

import { describe, expect, test } from 'vitest';
import { formatTraceparent, isTraceparent, parseTraceparent } from '../../src/platform/traceparent.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const sent = `00-${TRACE}-${SPAN}-01`;

test('a traceparent says which trace it is, and which span; and is written as it was', () => {
  const parsed = parseTraceparent(sent);
  expect(parsed).toEqual({ traceId: TRACE, spanId: SPAN, flags: 1 });
  expect(formatTraceparent(parsed as NonNullable<typeof parsed>)).toBe(sent);
});

describe('by W3C Trace Context', () => {
  test.each([
    ['a later version', `cc-${TRACE}-${SPAN}-01`],
    ['a later version that goes on', `cc-${TRACE}-${SPAN}-01-what-the-future`],
    ['flags that nobody knows', `00-${TRACE}-${SPAN}-ff`],
  ])('%s counts', (_, text) => expect(isTraceparent(text)).toBe(true));

  test.each([
    ['nothing', undefined],
    ['several headers', [sent, sent]],
    ['another text', 'nonsense'],
    ['upper case', sent.toUpperCase()],
    ['the version ff', `ff-${TRACE}-${SPAN}-01`],
    ['a version 00 that goes on', `${sent}-more`],
    ['a trace of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['a span of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['a trace that is short', `00-${TRACE.slice(1)}-${SPAN}-01`],
    ['a line behind it', `${sent}\n`],
  ])('%s does not count', (_, text) => expect(isTraceparent(text)).toBe(false));
});

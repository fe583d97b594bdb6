import { expect, test } from 'vitest';
import { isolated, writtenDate } from '../../src/dashboard/components/text.ts';

test.each([
  ['2026-03-14', 'Mar 14, 2026'],
  ['2026-03-14T09:30', 'Mar 14, 2026, 09:30'],
  ['2026-03-14T09:30:00.000Z', 'Mar 14, 2026, 09:30 UTC'],
  ['2026-03-14T09:30:15Z', 'Mar 14, 2026, 09:30:15 UTC'],
  ['2026-03-14T23:30:15.123-05:00', 'Mar 14, 2026, 23:30:15.123 -05:00'],
])('%s reads %s, in the zone in which it was written, and shows what was sent on hovering', (sent, shown) => {
  expect(String(writtenDate(sent))).toBe(`<time datetime="${sent}" title="${sent}">${shown}</time>`);
});

test.each([
  '',
  '20260314',
  '2026-13-45',
  '2026-02-30',
  'Claim 2026-03-14',
  '2026-03-14 or later',
  '402-555-0100',
])('%j is no date', (sent) => {
  expect(writtenDate(sent)).toBeUndefined();
});

test('a name that runs right to left stands at the beginning of a text that does not', () => {
  expect(isolated('Maria Lopez')).toBe('Maria Lopez');
  for (const name of ['בן־גוריון', 'فاطمة']) expect(isolated(name)).toBe(`\u200e\u2068${name}\u2069`);
});

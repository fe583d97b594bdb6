import { parse } from 'csv-parse/sync';
import { expect, test } from 'vitest';
import { csvLine } from '../../src/platform/csv.ts';

const formulas = ['=1+1', '+1', '-1', '@SUM(A1)', '＝1+1', '＋1', '－1', '＠A1'];
const blanks = ['\t', '\n', '\r', ' ', '\u00a0', '\ufeff', '\u0000', '\u001b'];

test.each([...formulas, ...blanks.flatMap((blank) => [`${blank}=1+1`, blank])])(
  'a cell that begins as %j does not begin so',
  (cell) => {
    const [row] = parse(csvLine([cell, 'next']), { record_delimiter: '\r\n' }) as string[][];
    expect(row).toEqual([`'${cell}`, 'next']);
  },
);

test.each(['a=1', 'Ü', "'", '1', '', 'a\nb', 'say "hi", please'])('a cell of %j stays as it is', (cell) => {
  expect(parse(csvLine([cell, 'next']), { record_delimiter: '\r\n' })).toEqual([[cell, 'next']]);
});

test('numbers stay numbers', () => {
  expect(csvLine([-1, undefined, 0])).toBe('-1,,0\r\n');
});

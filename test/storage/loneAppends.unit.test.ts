import { expect, test } from 'vitest';
import { LowConcurrencyDetector } from '../../src/storage/engines/sqlite/writerClient.ts';

const FAST = 0.2;
const SLOW = 2;

function after(commits: [ms: number, isLone: boolean][]): boolean {
  const lone = new LowConcurrencyDetector();
  for (const [ms, isLone] of commits) lone.committed(ms, isLone);
  return lone.isLikely;
}
const times = (count: number, ms: number, isLone = true) =>
  Array.from({ length: count }, (): [number, boolean] => [ms, isLone]);

test.each([
  ['nothing was committed', [], false],
  ['two lone appends', times(2, FAST), false],
  ['three lone appends', times(3, FAST), true],
  ['appends that had company', times(100, FAST, false), false],
  [
    'one that had company among lone ones',
    [...times(9, FAST), ...times(1, FAST, false), ...times(2, FAST)],
    false,
  ],
  ['lone appends on a slow disk', times(100, SLOW), false],
  ['one slow commit among fast ones', [...times(9, FAST), ...times(1, SLOW)], true],
  ['a disk that became slow', [...times(100, FAST), ...times(5, SLOW)], false],
  ['a disk that hung for an hour', [...times(100, FAST), [3_600_000, true]] as [number, boolean][], false],
  ['a disk that is well again', [[3_600_000, true], ...times(20, FAST)] as [number, boolean][], true],
])('after %s the next append is taken for a lone one: %#', (_what, commits, expected) => {
  expect(after(commits)).toBe(expected);
});

import { globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { longest } from '../support/vitest.ts';

test('each name in the list of the longest test files is that of a file', () => {
  const files = globSync('test/*/*.test.ts');
  expect(longest.filter((name) => !files.includes(`test/${name}.test.ts`))).toEqual([]);
});

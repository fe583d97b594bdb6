import { globSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';

test('properties are checked with the same values in every run', () => {
  const values = () => fc.sample(fc.string(), 20);
  expect(values()).toEqual(values());
});

test('no test makes a choice that a second run does not repeat', () => {
  const randomly = `Math.${'random'}`;
  const files = globSync('test/**/*.ts').filter((file) => readFileSync(file, 'utf8').includes(randomly));
  expect(files).toEqual([]);
});

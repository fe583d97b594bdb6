import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { backedUpTables, leftOutTables } from '../../src/server/backup.ts';

test('of every table of the state store it is decided whether it belongs to a backup', () => {
  const declared = globSync('src/**/*.ts').flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/StateTable<[^=]*= \{\s*name: '(\w+)'/g)].map(([, name]) => name),
  );
  expect(declared.length).toBeGreaterThan(10);
  const decided = [...backedUpTables.map(({ name }) => name), ...Object.keys(leftOutTables)];
  expect(decided.toSorted()).toEqual(declared.toSorted());
});

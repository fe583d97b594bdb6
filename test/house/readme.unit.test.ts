import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const readme = readFileSync('README.md', 'utf8');
const { dependencies, optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));

function sectionOf(heading: string): string {
  return readme.split(/^## /m).find((section) => section.startsWith(heading)) ?? '';
}

test('is read in one sitting', () => {
  expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(150);
});

test('explains every dependency', () => {
  const rows = sectionOf('Dependencies').match(/^\|[^|]+\|/gm) ?? [];
  const named = rows.flatMap((row) => row.match(/@?[a-z][\w./-]*[a-z0-9]/g) ?? []);
  const unexplained = Object.keys({ ...dependencies, ...optionalDependencies }).filter(
    (name) => !named.includes(name),
  );
  expect(unexplained).toEqual([]);
});

test('says what is in every folder of the sources', () => {
  const folders = readdirSync('src', { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const map = sectionOf('The source tree');
  expect(folders.map(({ name }) => `\`src/${name}\``).filter((name) => !map.includes(name))).toEqual([]);
});

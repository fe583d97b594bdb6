import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const architecture = readFileSync('docs/ARCHITECTURE.md', 'utf8');
const { dependencies, optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));

function sectionOf(heading: string): string {
  return architecture.split(/^## /m).find((section) => section.startsWith(heading)) ?? '';
}

test('the README is read in one sitting, and has the command that tests a change', () => {
  const readme = readFileSync('README.md', 'utf8');
  expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(110);
  expect(readme).toContain('`npm install && npm test`');
});

test('the architecture explains every dependency', () => {
  const rows = sectionOf('Dependencies').match(/^\|[^|]+\|/gm) ?? [];
  const named = rows.flatMap((row) => row.match(/@?[a-z][\w./-]*[a-z0-9]/g) ?? []);
  const unexplained = Object.keys({ ...dependencies, ...optionalDependencies }).filter(
    (name) => !named.includes(name),
  );
  expect(unexplained).toEqual([]);
});

test('the architecture says what is in every folder of the sources', () => {
  const layers = readdirSync('src', { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const modules = readdirSync('src/modules').map((name) => (name.endsWith('.ts') ? name : `${name}/`));
  const tree = sectionOf('The source tree');
  expect(layers.map(({ name }) => `\nsrc/${name}/ `).filter((line) => !tree.includes(line))).toEqual([]);
  expect(modules.filter((name) => !tree.includes(` ${name}`))).toEqual([]);
});

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const page = readFileSync('docs/compliance/security.md', 'utf8');
const rowsOf = (heading: string) => {
  const section = page.split(/^## /m).find((text) => text.startsWith(heading)) ?? '';
  return section
    .split('\n')
    .filter((line) => line.startsWith('| ') && !/^\| (?:risk|safeguard|---)/.test(line));
};
const named = [
  ...page.replaceAll('\n', ' ').matchAll(/`(test\/[\w/.]+\.test\.ts)`: ([^|]*?)(?: \||\. )/g),
].map(([, file, title]) => [file, title?.trim()] as [string, string]);

test('has every risk of the OWASP API Security Top 10 and every technical safeguard of HIPAA, each with a test', () => {
  const risks = rowsOf('OWASP');
  const numbers = risks.map((row) => /API(\d+)/.exec(row)?.[1]);
  expect(new Set(numbers)).toEqual(new Set(Array.from({ length: 10 }, (_, index) => String(index + 1))));
  const safeguards = rowsOf('HIPAA');
  const paragraphs = ['a', 'b', 'c', 'd', 'e'];
  expect(new Set(safeguards.map((row) => /\((\w)\)/.exec(row)?.[1]))).toEqual(new Set(paragraphs));
  for (const row of [...risks, ...safeguards]) expect(row).toMatch(/\| `test\/.+\.test\.ts`: /);
  expect(named.length).toBeGreaterThan(risks.length + safeguards.length);
});

test.each(named)('%s has a test «%s»', (file, title) => {
  expect(readFileSync(file, 'utf8')).toContain(title);
});

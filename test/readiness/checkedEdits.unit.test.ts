import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { rules } from '../../src/modules/readiness/rules/index.ts';

const [, table = ''] =
  /## What is checked\n([\s\S]*?)\n## /.exec(readFileSync('docs/guides/check-readiness.md', 'utf8')) ?? [];
/** Each edit, and what the guide says of it. */
const edits = table
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| **') && !line.startsWith('| ---'))
  .slice(1)
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([, edit = '', here = '']) => ({ edit, here }));
const severityOf = new Map(rules.map(({ code, severity }) => [code, severity]));

/** The rules that a cell names, each with what it says that they do. */
function namedIn(here: string): [code: string, severity: string][] {
  const found: [string, string][] = [];
  let named: string[] = [];
  for (const [, code, verb] of here.matchAll(/`(\w+)`|\b(block|warn)s?\b/g)) {
    if (code !== undefined && (code.includes('_') || severityOf.has(code))) named.push(code);
    if (verb === undefined) continue;
    found.push(...named.map((one): [string, string] => [one, `${verb}s`]));
    named = [];
  }
  return [...found, ...named.map((one): [string, string] => [one, 'nothing'])];
}

test('the guide says of each edit that a rule checks it, or why none can', () => {
  expect(edits.length).toBeGreaterThan(40);
  for (const { edit, here } of edits) expect([edit, here]).toEqual([edit, expect.stringMatching(FORM)]);
});
const FORM = /^(?:checked(?::|, once) .+|not checkable: .+)$/;

test('it names every rule, with what it does by default', () => {
  const named = edits.flatMap(({ here }) => namedIn(here));
  for (const [code, severity] of named) expect([code, severity]).toEqual([code, severityOf.get(code)]);
  expect(new Set(named.map(([code]) => code))).toEqual(new Set(severityOf.keys()));
});

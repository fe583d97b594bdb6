import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseAst } from 'vitest/node';

/** What texts do not use: each has a plain term of the trade, or can go. */
const words = new RegExp(
  [
    ...['tells?', 'telling', 'told', '(?:tak(?:es?|en|ing)|took) up', 'mend(?:s|ed|ing)?', 'alone', 'beside'],
    ...[
      'of (?:its|their|his|her) own',
      'by (?:itself|themselves)',
      'anew',
      'for ever',
      'at once',
      'meanwhile',
    ],
    ...['whoever', 'too(?=[.,;:!?)])'],
  ]
    .map((word) => `\\b${word.replaceAll(' ', '[\\s"#]+')}(?!\\w)`)
    .join('|'),
  'gi',
);

const pages = globSync(['README.md', 'docs/**/*.md', 'ops/**/*.md', 'clients/*/*.md']).filter(
  (file) => !file.startsWith('docs/decisions/') && !file.includes('node_modules'),
);
const sources = globSync(['src/**/*.ts', 'projections/**/*.ts']);
const operations = globSync(['ops/*.yaml', 'ops/{grafana,kubernetes*}/**/*.{yaml,json}']);

/** The words that a text uses, each with what stands around it. */
function foundIn(file: string, text: string): string[] {
  return [...text.matchAll(words)].map(({ 0: word, index }) => {
    const around = text.slice(Math.max(0, index - 30), index + word.length + 20);
    return `${file}: ${around.replaceAll(/\s+/g, ' ').trim()}`;
  });
}

/** The literals and templates of a syntax tree. */
function stringsOf(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(stringsOf);
  if (typeof node !== 'object' || node === null) return [];
  const { type, value, quasis } = node as {
    type?: string;
    value?: unknown;
    quasis?: { value: { raw: string } }[];
  };
  if (type === 'Literal') return typeof value === 'string' ? [value] : [];
  const template = quasis === undefined ? [] : [quasis.map(({ value }) => value.raw).join('…')];
  return [...template, ...Object.values(node).flatMap(stringsOf)];
}

/** The words in the strings of a source file; those that lines join count as one. */
function foundInStrings(file: string, source: string): string[] {
  const joined = source.replaceAll(/(['"`]) \+\s+\1/g, '');
  if (joined.search(words) === -1) return [];
  return stringsOf(parseAst(joined, { lang: 'ts' }, file)).flatMap((text) => foundIn(file, text));
}

test('the words are found in pages and in strings, and nowhere else in code', () => {
  expect(foundIn('page.md', 'It goes on by\nitself, too. Too many.')).toEqual([
    'page.md: It goes on by itself, too. Too many.',
    'page.md: It goes on by itself, too. Too many.',
  ]);
  const source = "/** Told. */\nconst told = call('of its ' +\n  'own', ` is mended`);";
  expect(foundInStrings('file.ts', source)).toEqual(['file.ts: of its own', 'file.ts: is mended']);
});

test('messages use the words of the trade', () => {
  expect(sources.flatMap((file) => foundInStrings(file, readFileSync(file, 'utf8')))).toEqual([]);
});

test('pages, alerts and charts use the words of the trade', () => {
  const files = [...pages, ...operations];
  expect(files.length).toBeGreaterThan(50);
  expect(files.flatMap((file) => foundIn(file, readFileSync(file, 'utf8')))).toEqual([]);
});

test('the glossary has at most 60 terms, in order, and names only what the code declares', () => {
  const rows = readFileSync('docs/glossary.md', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(2)
    .map((line) => line.split('|').map((cell) => cell.trim()));
  const terms = rows.map(([, term]) => term as string);
  expect(terms).toEqual([...new Set(terms)].toSorted());
  expect(terms.length).toBeLessThanOrEqual(60);
  const names = rows.flatMap(([, , , code = '']) => [...code.matchAll(/`(\w+)`/g)].map(([, name]) => name));
  expect(names.length).toBeGreaterThanOrEqual(terms.length);
  const source = sources.map((file) => readFileSync(file, 'utf8')).join('\n');
  const declared = new Set(
    [...source.matchAll(/^(?:export )?(?:async )?(?:class|interface|type|function|const) (\w+)/gm)].map(
      ([, name]) => name,
    ),
  );
  expect(names.filter((name) => !declared.has(name))).toEqual([]);
});

import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';

const pages = [
  'README.md',
  'CHANGELOG.md',
  ...globSync(['docs/**/*.md', 'ops/**/*.md', 'clients/*/*.md'], {
    exclude: ['**/node_modules/**'],
  }).toSorted(),
];

/** A page without its blocks and spans of code, where brackets are no links. */
function proseOf(page: string): string {
  return readFileSync(page, 'utf8')
    .replaceAll(/^ *```.*?^ *```/gms, '')
    .replaceAll(/`[^`\n]*`/g, '');
}

/** The anchors that GitHub gives the headings of a page. */
function anchorsOf(page: string): Set<string> {
  const headings = readFileSync(page, 'utf8')
    .replaceAll(/^ *```.*?^ *```/gms, '')
    .matchAll(/^#+ (.*)$/gm);
  const anchors = new Set<string>();
  for (const [, heading = ''] of headings) {
    const anchor = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-');
    let free = anchor;
    for (let count = 1; anchors.has(free); count++) free = `${anchor}-${count}`;
    anchors.add(free);
  }
  return anchors;
}

/** What is the matter with a link of a page; undefined if nothing is. */
function problemOf(page: string, link: string): string | undefined {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : normalize(join(dirname(page), path));
  if (!existsSync(target)) return `${page}: ${link} is not there`;
  if (anchor === undefined) return undefined;
  return !statSync(target).isDirectory() && anchorsOf(target).has(anchor)
    ? undefined
    : `${page}: ${link} has no such heading`;
}

const linksOf = (page: string) =>
  [...proseOf(page).matchAll(/\]\(([^()\s]+)\)/g)]
    .map(([, link]) => link as string)
    .filter((link) => !/^[a-z]+:/.test(link));

/** Commands that would download one of our packages, whose names are in no registry: anybody could register them. */
const download =
  /\b(?:npx|npm (?:i|install|add|exec|x|create|init)|pnpm|yarn|bunx?|pip3?|pipx|uvx?)(?: [^\n`|;&]*)? ['"]?chartledger(?:-client)?(?=[\s'"`@=[]|$)/gm;

const downloadsIn = (text: string) =>
  [...text.matchAll(download)].map(([command]) => command).filter((command) => !isLocal(command));
const isLocal = (command: string) => command === 'npx --no-install chartledger';

describe('the documentation', () => {
  test.each([
    'npx chartledger serve',
    'npx -y chartledger@1 serve',
    '`npm install chartledger-client`',
    'npm exec -- chartledger serve',
    'pip install --upgrade chartledger-client[test]',
    'pipx run "chartledger-client"',
  ])('%s could download the package of a stranger', (command) => {
    expect(downloadsIn(command)).toHaveLength(1);
  });

  test('has no command that could download the package of a stranger', () => {
    const files = globSync(['*.md', '{bin,clients,docs,examples,ops,src}/**/*.{md,mjs,py,sh,toml,ts,yaml}'], {
      exclude: ['**/node_modules/**', '**/dist/**'],
    });
    const texts = files.map((file) => readFileSync(file, 'utf8'));
    expect(texts.join('').split('npx --no-install chartledger').length).toBeGreaterThan(100);
    expect(texts.flatMap(downloadsIn)).toEqual([]);
  });

  test('links to pages and headings that are there', () => {
    const links = pages.flatMap((page) => linksOf(page).map((link) => [page, link] as const));
    expect(links.length).toBeGreaterThan(50);
    expect(links.map(([page, link]) => problemOf(page, link)).filter(Boolean)).toEqual([]);
  });

  test('has an index that lists every page', () => {
    const targets = (page: string) =>
      linksOf(page).map((link) => normalize(join(dirname(page), link.split('#')[0] ?? '')));
    expect(linksOf('README.md')).toContain('docs/README.md');
    const listed = new Set([
      ...['README.md', 'docs/README.md', 'docs/decisions/README.md'],
      ...targets('docs/README.md'),
      ...targets('docs/decisions/README.md'),
    ]);
    expect(pages.filter((page) => !listed.has(page))).toEqual([]);
  });

  test('has an index that calls every decision as its page does', () => {
    const rows = readFileSync('docs/decisions/README.md', 'utf8').matchAll(
      /^\| \[(\d+)\]\(([^)]+)\) +\| (.+?) +\|/gm,
    );
    const named = [...rows].map(([, number, file, title]) => [
      `docs/decisions/${file}`,
      `${number}: ${title}`,
    ]);
    const titled = globSync('docs/decisions/[0-9]*.md')
      .toSorted()
      .map((page) => [page, readFileSync(page, 'utf8').split('\n')[0]?.slice(2)]);
    expect(named).toEqual(titled);
  });
});

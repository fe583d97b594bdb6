import { globSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pageHelp } from '../../src/dashboard/components/help.ts';
import { docPath } from '../../src/dashboard/components/urls.ts';
import { dashboardPages } from '../support/dashboard.ts';
import { appendedBy, sharedService, type TestService } from '../support/service.ts';

let service: TestService;
/** Every document as a visitor without an account gets it, by its address. */
const pages = new Map<string, string>();
const names = globSync('**/*.md', { cwd: 'docs' }).map((file) => file.slice(0, -'.md'.length));

beforeAll(async () => {
  service = await sharedService();
  for (const name of names) {
    const response = await fetch(`${service.url}${docPath(name)}`);
    expect([name, response.status]).toEqual([name, 200]);
    pages.set(docPath(name), await response.text());
  }
}, 60_000);
afterAll(() => service.stop());

/** What the document of a page links to within the documentation. */
const linksOf = (page: string) =>
  [...page.matchAll(/href="(\/dashboard\/docs\/[^"]*|#[^"]*)"/g)].map(([, href = '']) => href);

const hasTarget = (href: string, from: string) => {
  const [path, anchor] = (href.startsWith('#') ? from + href : href).split('#');
  const page = pages.get(path ?? '');
  return page !== undefined && (anchor === undefined || page.includes(` id="${anchor}"`));
};

test('every page of the dashboard has a line of help, which leads to a document and a heading that are there', () => {
  expect(Object.keys(pageHelp).toSorted()).toEqual(dashboardPages.toSorted());
  const targets = Object.entries(pageHelp).map(([page, [, name, heading]]) => [page, docPath(name, heading)]);
  expect(targets.filter(([, target = '']) => !hasTarget(target, ''))).toEqual([]);
});

test('every link between documents leads to a document and a heading that are there, and no id is there twice', () => {
  const links = [...pages].flatMap(([from, page]) => linksOf(page).map((href) => [from, href] as const));
  expect(links.length).toBeGreaterThan(1_000);
  expect(links.filter(([from, href]) => !hasTarget(href, from))).toEqual([]);
  const repeated = [...pages].filter(([, page]) => {
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    return new Set(ids).size < ids.length;
  });
  expect(repeated.map(([path]) => path)).toEqual([]);
});

test('the index is the first page, and leads to a document with its headings', async () => {
  const index = await (await fetch(`${service.url}/dashboard/docs`)).text();
  expect(index).toContain('href="/dashboard/docs/guides/check-readiness"');
  const guide = pages.get(docPath('guides/legal-holds')) ?? '';
  expect(guide).toContain('<title>Put records under legal hold · Chartledger</title>');
  expect(guide).toContain('href="/dashboard/docs/guides/legal-holds" aria-current="page"');
  expect(guide).toContain('<h2 id="on-the-dashboard">');
});

test('markup in a document is shown as text, and no image is loaded', () => {
  const all = [...pages.values()].join('');
  expect(all).not.toMatch(
    /<(?:img(?! src="\/dashboard\/assets)|iframe|style|script(?! src="\/dashboard\/assets))/,
  );
  expect(all).not.toContain('<!--');
});

test.each([
  'guides/unknown',
  'guides',
  'package',
  '..%2Fpackage',
  '..%2F..%2Fetc%2Fpasswd',
  'guides/..%2f..%2fREADME',
  'guides/%2e%2e%2f%2e%2e%2fCHANGELOG',
  'dashboard/images%2Faudit.webp',
  'guides/import.md',
  '__proto__',
  'constructor',
])('there is no document %s', async (name) => {
  expect(
    await appendedBy(service, async () => {
      const response = await fetch(`${service.url}/dashboard/docs/${name}`);
      expect([response.status, await response.text()]).toEqual([
        404,
        expect.stringContaining('There is no such page.'),
      ]);
    }),
  ).toEqual([]);
});

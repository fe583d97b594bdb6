import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BrowserlessSession, signedIn } from '../support/dashboard.ts';
import { samples } from '../support/samples.ts';
import { startTestService, type TestService } from '../support/service.ts';

const MOST_BYTES = 200_000;

let service: TestService;
let visitor: BrowserlessSession;
// biome-ignore lint/suspicious/noExplicitAny: the document is walked field by field
let document: any;
/** Every page of the reference, by its path below the dashboard. */
const pages = new Map<string, string>();

beforeAll(async () => {
  service = await startTestService({ DASHBOARD_RATE_LIMIT_PER_MINUTE: '0' });
  ({ visitor } = await signedIn(service, 'viewer'));
  document = (await service.get('/openapi/json')).body;
  const paths = [
    '/reference',
    '/reference/messages',
    '/reference/errors',
    ...idsOf(document.paths).map((id) => `/reference/operations/${id}`),
    ...Object.keys(document.components.schemas).map((name) => `/reference/schemas/${name}`),
  ];
  for (const path of paths) pages.set(path, (await visitor.get(path)).text);
}, 60_000);
afterAll(() => service.stop());

const idsOf = (paths: Record<string, Record<string, { operationId: string }>>) =>
  Object.values(paths).flatMap((item) => Object.values(item).map(({ operationId }) => operationId));

const textOf = (markup: string) =>
  markup
    .replace(/<[^>]*>/g, '')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');

const partsOf = (page: string) =>
  [...page.matchAll(/class="reference-part" id="([^"]+)"/g)].map(([, id]) => id);

test('has every operation, message, error and schema of the document, each once', () => {
  const ids = [
    ...idsOf(document.paths),
    ...idsOf(document.webhooks),
    ...Object.keys(document.components.responses).map((name) => `response-${name}`),
    ...Object.keys(document.components.schemas).map((name) => `schema-${name}`),
  ];
  expect([...pages.values()].flatMap(partsOf).toSorted()).toEqual(ids.toSorted());
  // Links to a part of the page that it once was find its line.
  const lines = [...(pages.get('/reference') ?? '').matchAll(/<li id="([^"]+)"/g)].map(([, id]) => id);
  expect(lines.toSorted()).toEqual(ids.toSorted());
});

test('every page is small, and every link within the reference leads somewhere', () => {
  const heavy = [...pages].filter(([, text]) => Buffer.byteLength(text) > MOST_BYTES);
  expect(heavy.map(([path]) => path)).toEqual([]);
  const links = [...pages.values()].flatMap((page) =>
    [...page.matchAll(/href="\/dashboard(\/reference[^"#]*)(?:#([^"]*))?"/g)].map(([, path = '', id]) => ({
      path,
      id,
    })),
  );
  expect(links.length).toBeGreaterThan(1_000);
  const leading = ({ path, id }: (typeof links)[number]) =>
    pages.has(path) && (id === undefined || pages.get(path)?.includes(`id="${id}"`));
  expect(links.filter((link) => !leading(link))).toEqual([]);
});

test('an operation shows its parameters, its answers and samples in three languages', () => {
  const text = textOf(pages.get('/reference/operations/upsertPatient') ?? '');
  expect(text).toContain('POST /integration/patients');
  expect(text).toContain('If-Match header, string');
  expect(text).toContain('412 VersionConflict');
  expect(text).toContain(
    'curl "$CHARTLEDGER_URL/integration/patients" \\\n  -H "x-api-key: $CHARTLEDGER_API_KEY" \\\n  --json \'{',
  );
  expect(text).toContain("await chartledger.patients.upsert({\n  id: 'patient-1001',");
  expect(text).toContain('chartledger.patients.upsert({\n    "id": "patient-1001",');
  const patient = textOf(pages.get('/reference/schemas/Patient') ?? '');
  expect(patient).toContain('date_of_birth required string, a date or date and time (ISO 8601)');
  expect(patient).toContain('ssn_last4 string or null');
  expect(patient).toContain('One of male, female, other');
});

test('a call as it stands there works', async () => {
  const text = textOf(pages.get('/reference/operations/upsertPayer') ?? '');
  const [, body = ''] = /--json '(\{.*?\n\})'/s.exec(text) ?? [];
  const answer = await service.send('/integration/payers', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  expect(answer.body).toMatchObject({ success: true, outcome: 'created', warnings: [] });
  expect(Object.keys(JSON.parse(body))).toEqual(expect.arrayContaining(Object.keys(samples.payer())));
});

test('there is no page of what there is not', async () => {
  expect((await visitor.get('/reference/operations/upsertUnicorn')).status).toBe(404);
  expect((await visitor.get('/reference/schemas/constructor')).status).toBe(404);
});

describe('search', () => {
  const found = async (q: string) => {
    const { status, text } = await visitor.get(`/reference?${new URLSearchParams({ q })}`);
    expect(status).toBe(200);
    const [, results = ''] = /aria-label="Results">(.*?)<\/section>/s.exec(text) ?? [];
    return [...results.matchAll(/href="\/dashboard\/reference\/([^"]+)"/g)].map(([, path]) => path);
  };

  test('finds by all words, in any order and case; titles come before descriptions', async () => {
    const [first] = await found('document UPLOAD');
    expect(first).toBe('operations/uploadDocument');
    expect(await found('policy_number')).toContain('schemas/Insurance');
    expect(await found('VersionConflict')).toContain('errors#response-VersionConflict');
    expect(await found('/integration/snapshot')).toEqual(['operations/readSnapshot']);
    expect(await found('patient unicorn')).toEqual([]);
  });

  test('says what to do where nothing is found, and shows what was typed as text', async () => {
    const { text } = await visitor.get('/reference?q=%3Cb%3Eunicorn');
    expect(text).toContain('Nothing in the reference matches all of <code>&lt;b&gt;unicorn</code>');
    const mainOf = (page = '') => page.slice(page.indexOf('<main'));
    expect(mainOf((await visitor.get('/reference?q=%20')).text)).toBe(mainOf(pages.get('/reference')));
  });
});

import { afterAll, beforeAll, expect, test } from 'vitest';
import { startDashboard, type TestDashboard } from '../support/dashboard.ts';
import { samples } from '../support/samples.ts';

let dashboard: TestDashboard;
// biome-ignore lint/suspicious/noExplicitAny: the document is walked field by field
let document: any;

beforeAll(async () => {
  dashboard = await startDashboard();
  document = (await dashboard.service.get('/openapi/json')).body;
});
afterAll(() => dashboard.stop());

test('has every operation, message, error and schema of the document, each with a link of its own', async () => {
  const page = await dashboard.openAs('viewer', '/reference');
  const idsOf = (paths: Record<string, Record<string, { operationId: string }>>) =>
    Object.values(paths).flatMap((item) => Object.values(item).map(({ operationId }) => operationId));
  const ids = [
    ...idsOf(document.paths),
    ...idsOf(document.webhooks),
    ...Object.keys(document.components.responses).map((name) => `response-${name}`),
    ...Object.keys(document.components.schemas).map((name) => `schema-${name}`),
  ];
  const drawn = await page.locator('.reference-part').evaluateAll((parts) => parts.map(({ id }) => id));
  expect(drawn.toSorted()).toEqual(ids.toSorted());
});

test('every link within the page leads somewhere, and each id is there once', async () => {
  const page = await dashboard.openAs('viewer', '/reference');
  const targets = await page
    .locator('main a[href^="#"]')
    .evaluateAll((links) => links.map((link) => (link.getAttribute('href') ?? '').slice(1)));
  const ids = await page.locator('[id]').evaluateAll((elements) => elements.map(({ id }) => id));
  expect(targets.length).toBeGreaterThan(100);
  expect(targets.filter((target) => !ids.includes(target))).toEqual([]);
  expect(new Set(ids).size).toBe(ids.length);
});

test('an operation shows its parameters, its body, its answers and a call', async () => {
  const page = await dashboard.openAs('viewer', '/reference#upsertPatient');
  const section = page.locator('#upsertPatient');
  const text = await section.innerText();
  expect(text).toContain('POST /integration/patients');
  expect(text).toContain('If-Match header, string');
  expect(text).toContain('412 VersionConflict');
  expect(await page.locator('#upsertPatient-call').innerText()).toContain(
    'curl "$CHARTLEDGER_URL/integration/patients" \\\n  -H "x-api-key: $CHARTLEDGER_API_KEY" \\\n  --json \'{',
  );
  const patient = await page.locator('#schema-Patient').innerText();
  expect(patient).toContain('date_of_birth required string, a date or date and time (ISO 8601)');
  expect(patient).toContain('ssn_last4 string or null');
  expect(patient).toContain('One of male, female, other');
});

test('loads nothing from elsewhere, and nothing that the policy refuses', async () => {
  const page = await dashboard.openAs('viewer', '/reference');
  const requested: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => requested.push(new URL(request.url()).origin));
  page.on('console', (message) => complaints.push(message.text()));
  await page.reload();
  expect([...new Set(requested)]).toEqual([dashboard.service.url]);
  expect(complaints).toEqual([]);
});

test('a call as it stands there works', async () => {
  const page = await dashboard.openAs('viewer', '/reference');
  const call = await page.locator('#upsertPayer-call').innerText();
  const body = call.slice(call.indexOf("'") + 1, call.lastIndexOf("'"));
  const answer = await dashboard.service.send('/integration/payers', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  expect(answer.body).toMatchObject({ success: true, outcome: 'created', warnings: [] });
  expect(Object.keys(JSON.parse(body))).toEqual(expect.arrayContaining(Object.keys(samples.payer())));
});

test('the call is copied by its button', async () => {
  const page = await dashboard.openAs('viewer', '/reference');
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.locator('#getHealth').getByRole('button', { name: 'Copy the call' }).click();
  await page.locator('#getHealth').getByText('Copied').waitFor();
  const copied = await page.evaluate('navigator.clipboard.readText()');
  expect(copied).toBe(await page.locator('#getHealth-call').innerText());
});

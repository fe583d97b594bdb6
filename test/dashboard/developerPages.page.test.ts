import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectAccessible, startDashboard, type TestDashboard, takePictures } from '../support/dashboard.ts';
import { samples } from '../support/samples.ts';
import { sharedService } from '../support/service.ts';

let dashboard: TestDashboard;

beforeAll(async () => {
  dashboard = await startDashboard(await sharedService());
});
afterAll(() => dashboard.stop());

test('loads nothing from elsewhere, and nothing that the policy refuses', async () => {
  const page = await dashboard.openAs('viewer', '/reference');
  const requested: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => requested.push(new URL(request.url()).origin));
  page.on('console', (message) => complaints.push(message.text()));
  await page.goto('/dashboard/reference/operations/upsertPatient');
  expect([...new Set(requested)]).toEqual([dashboard.service.url]);
  expect(complaints).toEqual([]);
});

test('one sample is open at a time, and is copied by its button', async () => {
  const page = await dashboard.openAs('viewer', '/reference/operations/getHealth');
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  expect(await page.locator('#sample-curl').isVisible()).toBe(true);
  await page.setViewportSize({ width: 1440, height: 900 });
  const [operation, sample] = await Promise.all(
    ['.operation > :first-child', '.samples'].map((part) => page.locator(part).boundingBox()),
  );
  expect(sample?.y).toBe(operation?.y);
  await page.getByText('Python', { exact: true }).click();
  expect(await page.locator('#sample-curl').isVisible()).toBe(false);
  await page.getByRole('button', { name: 'Copy the Python sample' }).click();
  await page.getByText('Copied').waitFor();
  const copied = await page.evaluate('navigator.clipboard.readText()');
  expect(copied).toBe(await page.locator('#sample-python').textContent());
});

test('the events that come are put above those that are there, until that is stopped', async () => {
  const { service } = dashboard;
  const path = `/workspaces/${service.workspaceId('clinic')}/events`;
  const [first, second] = [samples.payer(), samples.payer()];
  await service.post('/integration/payers', first);
  const page = await dashboard.openAs('compliance', path);
  await page.getByRole('button', { name: 'Follow' }).click();
  await service.post('/integration/payers', second);
  const lines = page.locator('#events > li');
  await lines.filter({ hasText: second.id }).waitFor();
  expect(await lines.locator('small').allInnerTexts()).toEqual([second.id, first.id]);
  expect(await page.getByRole('status').filter({ hasText: '1 new' }).count()).toBe(1);
  await page.getByRole('button', { name: 'Stop' }).click();
  expect(await page.locator('#live').count()).toBe(0);
});

test('an operation is tried by its form, which keeps what was typed, and the answer is accessible', async () => {
  const page = await dashboard.openAs('compliance', '/reference/operations/listPayers');
  await page.getByRole('button', { name: 'Try it' }).click();
  await page.waitForURL(/#try-it$/);
  await page.getByLabel('limit (query)').fill('1');
  await page.getByRole('button', { name: 'Send' }).click();
  const answer = page.getByRole('region', { name: 'Response' });
  await answer.getByText('200 OK').waitFor();
  expect(await answer.innerText()).toContain('"items"');
  expect(await page.getByLabel('limit (query)').inputValue()).toBe('1');
  await expectAccessible(page);
  await takePictures(page, 'reference-tried');
});

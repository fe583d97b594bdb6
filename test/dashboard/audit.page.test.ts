import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ENTRIES_A_CHUNK } from '../../projections/auditTrail.ts';
import type { Client } from '../support/client.ts';
import { expectAccessible, startDashboard, type TestDashboard, textOf } from '../support/dashboard.ts';
import { phi } from '../support/output.ts';
import { createEncounter, documentForm, documentsPath, samples } from '../support/samples.ts';
import { accessesBy, appendedBy, readAll, sharedService, type TestService } from '../support/service.ts';

const LONG_MS = 60_000;

let dashboard: TestDashboard;
let service: TestService;
let client: Client;
let workspace: string;
let keyId: string;
const hostile = phi('<img src=x onerror="document.title=1">');
beforeAll(async () => {
  dashboard = await startDashboard(await sharedService());
  ({ service } = dashboard);
  workspace = service.workspaceId('clinic');
  const { key, id } = await service.keys.createKey(workspace, 'EMR <b>connector</b>', ['write', 'read']);
  keyId = id;
  client = service.as(key);
  const encounter = await createEncounter(client);
  await client.upload(documentsPath(encounter), documentForm());
  await client.post('/integration/payers', { ...samples.payer(), id: hostile });
  await client.get(`/integration/payers/${encodeURIComponent(hostile)}`);
  await client.post('/integration/payers', { id: hostile });
}, LONG_MS);
afterAll(() => dashboard.stop());

const path = () => `/workspaces/${workspace}/audit`;
const show = async (page: Page) => {
  await page.getByRole('button', { name: 'Show' }).click();
  await page.waitForLoadState();
};
/** The cells of a column, from the first row on. */
const column = (page: Page, number: number) =>
  page.locator(`tbody tr > :nth-child(${number})`).allInnerTexts();
const what = (page: Page) => page.locator('tbody summary').allInnerTexts();
/** What opens in the first row. */
const details = async (page: Page) => {
  await page.locator('tbody summary').first().click();
  return textOf(page.locator('tbody details').first());
};

describe('the audit trail of a workspace', () => {
  test(
    'shows who did what on which record, newest first, as text',
    async () => {
      const page = await dashboard.openAs('compliance', path());
      expect((await what(page)).slice(0, 5)).toEqual([
        'Request refused',
        'Record read',
        'Payer upserted',
        'Document uploaded',
        'Encounter upserted',
      ]);
      const [first = ''] = await page.locator('tbody tr').allInnerTexts();
      expect(first).toContain('EMR <b>connector</b>');
      expect(first).toContain(hostile);
      expect(first).toContain('validation failed');
      const all = await details(page);
      expect(all).toContain('Endpoint POST /integration/payers');
      expect(all).toContain('From 127.0.0.1');
      expect(await page.locator('main img, main b').count()).toBe(0);
      const link = page.getByRole('row').getByTitle(hostile).first();
      expect(await link.getAttribute('href')).toBe(
        `/dashboard/workspaces/${workspace}/records/payers/${encodeURIComponent(hostile)}`,
      );
    },
    LONG_MS,
  );

  test(
    'is limited by the form, and by the name of who did it',
    async () => {
      const page = await dashboard.openAs('admin', path());
      await page.getByLabel('Outcome').selectOption('Refused');
      await page.getByLabel('Record ID').fill(hostile);
      await show(page);
      expect(await what(page)).toEqual(['Request refused']);
      expect(await page.getByLabel('Record ID').inputValue()).toBe(hostile);
      await page.getByLabel('Outcome').selectOption('Any outcome');
      await page.getByLabel('Action').selectOption('Record read');
      await show(page);
      expect(await what(page)).toEqual(['Record read']);
      await page.getByRole('button', { name: 'Clear' }).click();
      await page.getByRole('link', { name: 'EMR <b>connector</b>' }).first().click();
      expect(new URL(page.url()).searchParams.get('principal')).toBe(keyId);
      expect(new Set(await column(page, 2))).toEqual(new Set(['EMR <b>connector</b> API key']));
      await page.getByLabel('From').fill('2999-01-01T00:00:00');
      await show(page);
      expect(await page.getByText('No entries match.').count()).toBe(1);
      await expectAccessible(page);
    },
    LONG_MS,
  );

  test(
    'says beside the field what is wrong with a time',
    async () => {
      const page = await dashboard.openAs('admin', `${path()}?from=yesterday&kind=payer`);
      expect(await page.locator('#from-error').innerText()).toContain('Must be an ISO 8601 date');
      expect(await page.getByLabel('Kind').inputValue()).toBe('payer');
      await expectAccessible(page);
      const response = await page.goto(page.url());
      expect(response?.status()).toBe(400);
      const misspelt = await page.goto(`/dashboard${path()}?patient=${phi('x')}`);
      expect(misspelt?.status()).toBe(400);
      expect(await page.locator('main').innerText()).toContain('patient is not a known query parameter');
      const madeUp = await page.goto(`/dashboard${path()}?page_token=seven`);
      expect(madeUp?.status()).toBe(400);
    },
    LONG_MS,
  );

  test(
    'leads to older entries without a gap, and back over the same pages',
    async () => {
      const count = 2 * ENTRIES_A_CHUNK + 10;
      const other = await service.createKey('long', ['write']);
      for (let n = 0; n < count; n++)
        await service.as(other.key).post('/integration/payers', samples.payer());
      const page = await dashboard.openAs(
        'compliance',
        `/workspaces/${other.workspace}/audit?action=PayerUpserted`,
      );
      const shown = () => page.locator('.request-id').allTextContents();
      const pages: string[][] = [];
      for (;;) {
        pages.push(await shown());
        if (pages.flat().length >= count) break;
        await service.as(other.key).post('/integration/payers', samples.payer());
        await page.getByRole('link', { name: 'Older' }).click();
        expect(pages.length).toBeLessThan(10);
      }
      const ids = pages.flat();
      const events = (await readAll(service.eventLog)).filter(
        ({ type, metadata }) => type === 'PayerUpserted' && metadata.workspace === other.workspace,
      );
      expect(ids).toEqual(
        events
          .slice(0, count)
          .map(({ id }) => id)
          .reverse(),
      );
      expect(await page.getByRole('link', { name: 'Older' }).count()).toBe(0);
      for (const earlier of pages.slice(1, -1).reverse()) {
        await page.getByRole('link', { name: 'Newer' }).click();
        expect(await shown()).toEqual(earlier);
      }
      await page.getByRole('link', { name: 'Newer' }).click();
      expect(new URL(page.url()).search).toBe('?action=PayerUpserted');
      expect(await page.getByRole('link', { name: 'Newer' }).count()).toBe(0);
    },
    LONG_MS,
  );

  test(
    'is exported as it is limited, in both formats, and every look at it is in it',
    async () => {
      const page = await dashboard.openAs('compliance', `${path()}?id=${encodeURIComponent(hostile)}`);
      const download = async (name: string) => {
        const [file] = await Promise.all([
          page.waitForEvent('download'),
          page.getByRole('button', { name }).click(),
        ]);
        return { name: file.suggestedFilename(), text: readFileSync(await file.path(), 'utf8') };
      };
      const accesses = await accessesBy(service, async () => {
        expect(
          await appendedBy(service, async () => {
            const csv = await download('Export as CSV');
            expect(csv.name).toMatch(/^audit-clinic_\w+-\d{4}-\d\d-\d\d\.csv$/);
            const rows = parse<Record<string, string>>(csv.text, { columns: true });
            const ndjson = await download('Export as NDJSON');
            const lines = ndjson.text
              .trimEnd()
              .split('\n')
              .map((line) => JSON.parse(line));
            // Whoever looks at what happened to a record is in its trail, too.
            const isOfTrail = ({ action }: { action?: string }) => action?.startsWith('audit.') === true;
            expect(rows.filter(isOfTrail).map(({ action }) => action)).toContain('audit.read');
            expect(lines.filter(isOfTrail).map(({ action }) => action)).toContain('audit.export');
            for (const list of [rows, lines].map((all) => all.filter((entry) => !isOfTrail(entry)))) {
              expect(list.map(({ action, type }) => action || type)).toEqual([
                'request.refused',
                'record.read',
                'PayerUpserted',
              ]);
              expect(list[0]).toMatchObject({
                principal_id: keyId,
                principal_name: 'EMR <b>connector</b>',
                record_id: hostile,
                outcome: 'refused',
                code: 'validation_failed',
                client_ip: '127.0.0.1',
              });
            }
            await page.reload();
          }),
        ).toEqual([]);
      });
      const query = { id: hostile };
      expect(accesses).toEqual([
        { action: 'audit.export', query: { ...query, format: 'csv' } },
        { action: 'audit.export', query: { ...query, format: 'ndjson' } },
        { action: 'audit.read', query },
        { action: 'record.list', kind: 'payer', query: { fields: 'name' }, shown: expect.anything() },
      ]);
      await page.goto(`/dashboard${path()}?action=audit.export`);
      expect(await what(page)).toEqual(['Audit trail exported', 'Audit trail exported']);
      expect(await details(page)).toContain(`Asked for format: ndjson; id: ${hostile}`);
    },
    LONG_MS,
  );
});

test(
  'the audit trail of the installation tells of users and sign-ins',
  async () => {
    const page = await dashboard.openAs('compliance', '/audit');
    const texts = await what(page);
    expect(texts).toEqual(expect.arrayContaining(['Signed in', 'User created']));
  },
  LONG_MS,
);

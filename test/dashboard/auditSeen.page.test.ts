import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CreatedKey } from '../../src/modules/auth/keyManager.ts';
import type { Permission } from '../../src/modules/auth/permissions.ts';

import { runCli, storesOf } from '../support/cli.ts';
import { expectAccessible, startDashboard, type TestDashboard, takePictures } from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { samples } from '../support/samples.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { createWebhook, HookEndpoint, openLoopback } from '../support/webhooks.ts';

const LONG_MS = 60_000;

let service: TestService;
let dashboard: TestDashboard;
let endpoint: HookEndpoint;
beforeAll(async () => {
  service = await startTestService(openLoopback);
  dashboard = await startDashboard(service);
  endpoint = await HookEndpoint.open();
}, LONG_MS);
afterAll(async () => {
  await dashboard.stop();
  await service.stop();
  await endpoint.down();
});

test(
  'who has seen a patient is told, whether by name, in a list, in events, in an export or by webhook, and nobody else is',
  async () => {
    const workspace = service.workspaceId('clinic');
    const keyOf = (permissions: Permission[]) => service.createKey('clinic', permissions);
    const get = (key: CreatedKey, path: string) => service.as(key.key).get(path);
    const [patient, other] = [samples.patient(), samples.patient()];
    for (const one of [patient, other]) {
      expect((await service.post('/integration/patients', one)).status).toBe(200);
    }
    const seeing = {
      named: await keyOf(['read']),
      listed: await keyOf(['read']),
      events: await keyOf(['events']),
      deidentified: await keyOf(['events:deidentified']),
    };
    const blind = {
      otherNamed: await keyOf(['read']),
      otherListed: await keyOf(['read']),
      otherKinds: await keyOf(['events']),
      refused: await keyOf(['write']),
    };
    const page = (await get(seeing.listed, '/integration/patients?limit=1')).body;
    expect(page.items[0].id).toBe(patient.id);
    await get(blind.otherListed, `/integration/patients?page_token=${page.next_page_token}`);
    await get(seeing.named, `/integration/patients/${encodeURIComponent(patient.id)}`);
    await get(blind.otherNamed, `/integration/patients/${encodeURIComponent(other.id)}`);
    await get(blind.refused, `/integration/patients/${encodeURIComponent(patient.id)}`);
    await get(seeing.events, '/events?limit=1');
    await get(seeing.deidentified, '/events');
    await get(blind.otherKinds, '/events?kinds=payer');
    const maker = service.as((await keyOf(['webhooks', 'events'])).key);
    const start = 'beginning';
    const hook = await createWebhook(maker, { url: endpoint.url, payload: 'full', start });
    await eventually(() => expect(endpoint.accepted).toHaveLength(2));
    const env = { ...storesOf(service.config), DATA_DIR: service.config.dataDir };
    const exported = ['export', '--workspace', workspace, '--format', 'ndjson', '--kind'];
    for (const kind of ['patient', 'payer']) {
      expect(await runCli([...exported, kind], { env })).toMatchObject({ code: 0 });
    }

    const compliance = await dashboard.openAs('compliance', `/workspaces/${workspace}/records`);
    const query = new URLSearchParams({ kind: 'patient', id: patient.id, seen: 'all' });
    await compliance.goto(`/dashboard/workspaces/${workspace}/audit?${query.toString()}`);
    await compliance.waitForLoadState();
    await expectAccessible(compliance);
    await takePictures(compliance, 'audit-seen');
    const rows = await compliance.locator('tbody tr').allTextContents();
    const text = rows.join('\n').replace(/\s+/g, ' ');
    expect(text).toContain(hook.id);
    expect(text).toContain(`Webhook ${endpoint.url}`);
    expect(text).toMatch(/Records listed .*?limit: 1 ?Shown ?1 at \d+/);
    const download = compliance.waitForEvent('download');
    await compliance.getByRole('button', { name: 'Export as NDJSON' }).click();
    const lines = readFileSync(await (await download).path(), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const seen = lines.map(({ principal_type, principal_id, action, record_id }) =>
      principal_type === 'service'
        ? [action, record_id]
        : [action, principal_type === 'api_key' && principal_id],
    );
    expect(seen).toEqual(
      expect.arrayContaining([
        ['record.read', seeing.named.id],
        ['record.list', seeing.listed.id],
        ['events.read', seeing.events.id],
        ['events.read', seeing.deidentified.id],
        ['webhook.sent', hook.id],
        ['export', false],
      ]),
    );
    expect(lines.filter(({ action }) => action === 'export')).toHaveLength(1);
    for (const { id } of Object.values(blind)) expect(JSON.stringify(lines)).not.toContain(id);
  },
  LONG_MS,
);

test('the question needs a kind of record and an id', async () => {
  const workspace = service.workspaceId('clinic');
  const page = await dashboard.openAs('compliance', `/workspaces/${workspace}/audit`);
  await page.getByLabel('About the record').selectOption('yes');
  await page.getByRole('button', { name: 'Show' }).click();
  await page.waitForLoadState();
  expect(await page.getByRole('main').textContent()).toContain('requires a kind of record and a record id');
});

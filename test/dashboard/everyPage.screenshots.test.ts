import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DemoSender } from '../../src/cli/commands/demo.ts';
import { type DemoRequest, demoRequests } from '../../src/cli/commands/demoData.ts';
import { patient } from '../../src/domain/records/kinds/patient.ts';
import { UserLinks } from '../../src/modules/auth/userManager.ts';
import { type Role, UserDirectory } from '../../src/modules/auth/users.ts';
import { addHold } from '../../src/modules/erasure/holds.ts';
import { runCli, storesOf } from '../support/cli.ts';
import type { Client } from '../support/client.ts';
import {
  addressOf,
  dashboardPages,
  openDisclosure,
  screenshotFile,
  setUpApp,
  startDashboard,
  type TestDashboard,
  type TestUser,
} from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { configureSources, sendMessages, waitingMessage } from '../support/messages.ts';
import { analyse, changeAfterBilling, countDays } from '../support/readiness.ts';
import { documentsPath } from '../support/samples.ts';
import { startTestService } from '../support/service.ts';
import { makeUser } from '../support/users.ts';
import { createWebhook, patch, webhooksPath } from '../support/webhooks.ts';

const LONG_MS = 120_000;
const SEED = 1;
/** Of the last days, made up. */
const BLOCKED = [412, 405, 408, 396, 380, 377, 371, 352, 349, 341, 336, 330, 318, 321, 312];
const QUALITY = 70;
const MARGIN = 16;
const SIZE = { width: 1440, height: 900 };
const workspace = 'riverside';
const root = `/workspaces/${workspace}`;
const held = { entry: patient, id: 'demo-patient-0007' };
const operator = { type: 'operator', id: 'setup' } as const;

let dashboard: TestDashboard;
let page: Page;
/** Pages that are not come to by their address alone. */
const opened = new Map<string, Page>();
let things: Record<string, string>;

beforeAll(async () => {
  mkdirSync(dirname(screenshotFile('/')), { recursive: true });
  const service = await startTestService();
  dashboard = await startDashboard(service);
  const setup = await dashboard.open(service.setupUrl?.split('/dashboard')[1] ?? '');
  opened.set('/setup', setup);
  await service.keys.createWorkspace(workspace);
  const granted = ['write', 'read', 'events', 'webhooks'] as const;
  const emr = await service.keys.createKey(workspace, 'EMR connector', [...granted]);
  const off = await service.keys.createKey(workspace, 'Former warehouse', ['read']);
  await service.keys.setKeyState(off.id, 'deactivated');
  const groups = demoRequests(SEED);
  const sender = new DemoSender(service.url, emr.key);
  for (const group of groups) await sender.sendGroup(group);
  const { patientId, encounterId, documentId } = told(groups);
  const client = service.as(emr.key);
  await client.delete(documentsPath(encounterId, documentId));
  await changeAfterBilling(client, encounterId);
  const refused = await client.post('/integration/patients', { id: patientId, nickname: 'Ada' });
  await configureSources(service.eventLog, workspace, emr.id);
  expect((await client.get('/events?consumer=warehouse&limit=1')).status).toBe(200);
  await sendErased(client);
  const messages = await sendMessages(client);
  const waiting = `${root}/messages/${await waitingMessage(service, workspace)}`;
  const settings = { url: 'https://billing.example.com/hooks/chartledger', description: 'Billing' };
  const [webhook, disabled] = [await createWebhook(client, settings), await createWebhook(client, settings)];
  await patch(client, `${webhooksPath}/${disabled.id}`, { state: 'disabled' });
  const reader = await service.keys.createKey(workspace, 'Warehouse', ['events']);
  await service.as(reader.key).get('/events?consumer=warehouse');
  const caller = { workspace, principal: operator, requestId: 'setup' };
  things = {
    ':workspace': workspace,
    ':kind': 'patients',
    ':documentId': documentId,
    ':field': 'city',
    ':name': 'warehouse',
    ':event': await openDisclosure(
      service.as((await service.keys.createKey(workspace, 'Registry', ['read', 'audit'])).key),
      patientId,
    ),
    ':user': (await newUser('eve@clinic.example', 'viewer')).id,
    ':hold': await addHold(service.eventLog, caller, held, 'Case 2031-17'),
    '/workspaces/:workspace/messages/:message': `${root}/messages/${messages.at(-1)}?content=shown`,
    '/workspaces/:workspace/messages/:message/correct': `${waiting}/correct`,
    '/workspaces/:workspace/messages/:message/put-aside': `${waiting}/put-aside`,
    '/workspaces/:workspace/records/encounters/:id/readiness/answer': `${root}/records/encounters/${encounterId}/readiness/answer?rule=changed_after_billing&kind=encounter&record_id=${encounterId}`,
    ':source': 'lab',
    ':consumer': 'warehouse',
    ':operation': 'upsertPatient',
    ':schema': 'Patient',
    ':doc': 'README',
    '/docs/:folder/:doc': '/docs/guides/check-readiness',
    ':id': patientId,
    [`${recordRoute}/compare`]: `${root}/records/patients/${patientId}/compare?from=1&to=2`,
    ...Object.fromEntries(
      ['', '/diff', '/undo'].map((part) => [
        `/workspaces/:workspace/changes${part}`,
        `${root}/changes${part}?from=2020-01-01&kind=encounter&principal=${emr.id}`,
      ]),
    ),
    keys: emr.id,
    '/workspaces/:workspace/keys/:id/activate': `${root}/keys/${off.id}/activate`,
    requests: String(refused.headers['request-id']),
    webhooks: webhook.id,
    '/workspaces/:workspace/webhooks/:id/enable': `${root}/webhooks/${disabled.id}/enable`,
    encounters: encounterId,
  };
  page = await dashboard.openFor(await newUser('ada@clinic.example', 'admin'), root);
  await countDays(service, workspace, BLOCKED);
  await analyse(page, workspace);
  await openOthers();
}, LONG_MS);
afterAll(async () => {
  await dashboard.stop();
  await dashboard.service.stop();
});

const recordRoute = '/workspaces/:workspace/records/:kind/:id';

/** A patient that an EMR sends again after its erasure. */
async function sendErased(client: Client): Promise<void> {
  const { config, keys } = dashboard.service;
  await keys.setReturns(workspace, 'review');
  const erased = {
    id: 'demo-patient-9001',
    first_name: 'Ida',
    last_name: 'Moss',
    date_of_birth: '1961-05-02',
  };
  await client.post('/integration/patients', erased);
  const command = ['records', 'erase', 'patient', erased.id, '--workspace', workspace, '--reason', 'Asked'];
  const { stderr, code } = await runCli(command, { env: { ...storesOf(config), DATA_DIR: config.dataDir } });
  expect([code, stderr]).toEqual([0, '']);
  await eventually(async () => {
    expect((await client.post('/integration/patients', erased)).status).toBe(409);
  });
}

/** Pages before the sign-in, and what was searched for. */
async function openOthers(): Promise<void> {
  const { eventLog } = dashboard.service;
  opened.set('/sign-in', await dashboard.open('/sign-in'));
  const withApp = await newUser('ben@clinic.example', 'compliance');
  await setUpApp(dashboard.service, withApp);
  opened.set('/sign-in/code', await dashboard.openFor(withApp, '/sign-in/code'));
  const users = await UserDirectory.open(eventLog);
  const links = new UserLinks(users, { principal: operator });
  const { token } = await links.invite({ name: 'mona@clinic.example', roles: { '*': 'viewer' } });
  users.close();
  opened.set('/invitation', await dashboard.open(`/invitation?token=${token}`));
  const storageState = await page.context().storageState();
  const search = await dashboard.open(`${root}/search`, { storageState });
  await search.getByLabel('Search for').fill('castellano ada');
  await search.getByRole('button', { name: 'Search' }).click();
  await search.getByRole('table').waitFor();
  opened.set('/workspaces/:workspace/search', search);
}

async function newUser(name: string, role: Role): Promise<TestUser> {
  const users = await UserDirectory.open(dashboard.service.eventLog);
  const password = 'correct horse battery staple';
  const id = await makeUser(users, { name, role, password });
  users.close();
  return { id, name, password };
}

/** A patient of several versions, one of whose encounters has a document. */
function told(groups: DemoRequest[][]): Record<'patientId' | 'encounterId' | 'documentId', string> {
  const records = groups.flat().flatMap((one) => (one.send === 'record' && !one.refused ? [one] : []));
  const isChanged = (id: unknown) => records.filter(({ record }) => record.id === id).length > 1;
  for (const one of groups.flat()) {
    if (one.send !== 'document') continue;
    const { encounterId, documentId } = one;
    const patientId = records.find(({ record }) => record.id === encounterId)?.record.patient_id;
    if (isChanged(patientId)) return { patientId: String(patientId), encounterId, documentId };
  }
  throw new Error('the demo has no such patient');
}

test.each(dashboardPages)('%s has a picture', async (path) => {
  const shown = opened.get(path) ?? page;
  await shown.setViewportSize(SIZE);
  if (shown === page) {
    expect((await page.goto(`/dashboard${addressOf(path, things)}`))?.status()).toBe(200);
  }
  await shown.locator('[aria-busy]').waitFor({ state: 'detached' });
  writeFileSync(screenshotFile(path), await screenshot(shown, path === overview));
});

/** The page whose picture shows the menu; those of others begin beside it. */
const overview = '/workspaces/:workspace';

/** Where a page begins beside its menu, or without one, in pixels. */
const pageBegin = `(({ left, top }) => ({ left, top }))((document.querySelector('.side ~ main') ?? document.body).getBoundingClientRect())`;

/** Where a page that does not fill the window ends, in pixels. */
const pageEnd = (parts: string) =>
  `Math.max(...[...document.querySelectorAll('${parts}')].map((part) => part.getBoundingClientRect().bottom))`;

/** What a desktop shows of a page, in light. */
async function screenshot(shown: Page, withMenu: boolean): Promise<Buffer> {
  await shown.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  const session = await shown.context().newCDPSession(shown);
  const { left, top } = withMenu
    ? { left: 0, top: 0 }
    : ((await shown.evaluate(pageBegin)) as { left: number; top: number });
  const [x, y] = [Math.max(0, left - MARGIN), Math.max(0, top - MARGIN)];
  const end = Number(await shown.evaluate(pageEnd(withMenu ? '.side, main > *' : 'main > *')));
  const height = Math.min(SIZE.height, end + MARGIN) - y;
  const clip = { x, y, width: SIZE.width - x, height, scale: 1 };
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY, clip });
  await session.detach();
  return Buffer.from(data, 'base64');
}

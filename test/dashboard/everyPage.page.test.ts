import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { UserLinks } from '../../src/modules/auth/userManager.ts';
import { UserDirectory } from '../../src/modules/auth/users.ts';
import { addHold } from '../../src/modules/erasure/holds.ts';
import type { Client } from '../support/client.ts';
import {
  addressOf,
  dashboardPages,
  expectAccessibleIn,
  expectFocusSeen,
  expectIsolated,
  expectPrintable,
  openDisclosure,
  setUpApp,
  startDashboard,
  type TestDashboard,
  takePictures,
} from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { configureSources, sendMessages, waitingMessage } from '../support/messages.ts';
import { phi } from '../support/output.ts';
import { analyse, changeAfterBilling } from '../support/readiness.ts';
import { createEncounter, documentForm, documentsPath, samples } from '../support/samples.ts';
import { startTestService } from '../support/service.ts';
import { createWebhook, openLoopback } from '../support/webhooks.ts';

let dashboard: TestDashboard;
let page: Page;
/** Pages that are not for who is signed in. */
const before = new Map<string, Page>();
/** What a route names, by its name; whole routes where that depends on the page. */
let things: Record<string, string>;

beforeAll(async () => {
  const service = await startTestService({ ...openLoopback, ROLES: 'api,projector' });
  dashboard = await startDashboard(service);
  const workspace = service.workspaceId('clinic');
  // Nothing in it can be broken at a blank.
  const patient = {
    ...samples.patient(),
    id: phi('patient').padEnd(120, '0'),
    ...{ first_name: phi('فاطمة'), last_name: phi('בן־גוריון') },
  };
  for (const city of ['Omaha', 'תל אביב']) await service.post('/integration/patients', { ...patient, city });
  const referred = await sendLongNames(service);
  const encounter = await createEncounter(service);
  await service.patch(`/integration/encounters/${encounter}`, referred);
  await sendBlocked(service, referred);
  await service.upload(documentsPath(encounter), documentForm());
  await changeAfterBilling(service, encounter);
  const [document] = (await service.get(documentsPath(encounter))).body.items;
  const [key, off] = [
    await service.keys.createKey(workspace, 'מפתח לילי', ['write', 'read']),
    await service.keys.createKey(workspace, 'قديم', ['write']),
  ];
  await service.keys.setKeyState(off.id, 'deactivated');
  const client = service.as((await service.createKey('clinic', ['webhooks'])).key);
  const rightToLeft = { description: 'מחלקת חיוב', recipient: 'شركة التأمين', purpose: 'payment' };
  const [webhook, disabled] = [await createWebhook(client, rightToLeft), await createWebhook(client)];
  await client.send(`/integration/webhooks/${disabled.id}`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ state: 'disabled' }),
  });
  const refused = await service.post('/integration/patients', { id: patient.id, nickname: 'Ada' });
  await configureSources(service.eventLog, workspace, key.id);
  const [, message] = await sendMessages(service);
  const waiting = `/workspaces/${workspace}/messages/${await waitingMessage(service, workspace)}`;
  const user = await dashboard.createUser('viewer');
  await service.as((await service.createKey('clinic', ['events'])).key).get('/events?consumer=lake');
  const caller = { workspace, principal: { type: 'operator', id: 'test' }, requestId: 'test' } as const;
  const hold = await addHold(service.eventLog, caller, undefined, 'תיק 2031-17');
  const root = `/workspaces/${workspace}`;
  things = {
    ':workspace': workspace,
    ':kind': 'patients',
    ':documentId': document.document_id,
    ':field': 'city',
    ':event': await openDisclosure(
      service.as((await service.createKey('clinic', ['read', 'audit'])).key),
      patient.id,
    ),
    ':user': user.id,
    ':hold': hold,
    ':source': 'lab',
    ':consumer': 'lake',
    '/workspaces/:workspace/messages/:message': `${root}/messages/${message}?content=shown`,
    '/workspaces/:workspace/messages/:message/correct': `${waiting}/correct`,
    '/workspaces/:workspace/messages/:message/put-aside': `${waiting}/put-aside`,
    ':operation': 'upsertPatient',
    ':schema': 'Patient',
    ':doc': 'README',
    '/docs/:folder/:doc': '/docs/guides/check-readiness',
    ':id': patient.id,
    '/workspaces/:workspace/records/:kind/:id/compare': `${root}/records/patients/${patient.id}/compare?from=1&to=2`,
    ...Object.fromEntries(
      ['', '/diff', '/undo'].map((part) => [
        `/workspaces/:workspace/changes${part}`,
        `${root}/changes${part}?from=2020-01-01`,
      ]),
    ),
    '/workspaces/:workspace/records/encounters/:id/readiness/answer': `${root}/records/encounters/${encounter}/readiness/answer?rule=changed_after_billing&kind=encounter&record_id=${encounter}`,
    '/workspaces/:workspace/readiness': `${root}/readiness?state=any`,
    keys: key.id,
    '/workspaces/:workspace/keys/:id/activate': `${root}/keys/${off.id}/activate`,
    requests: String(refused.headers['request-id']),
    webhooks: webhook.id,
    '/workspaces/:workspace/webhooks/:id/enable': `${root}/webhooks/${disabled.id}/enable`,
    encounters: encounter,
  };
  // The link ends with the first administrator.
  before.set('/setup', await dashboard.open(service.setupUrl?.split('/dashboard')[1] ?? ''));
  before.set('/sign-in', await dashboard.open('/sign-in'));
  const withApp = await dashboard.createUser('viewer');
  await setUpApp(service, withApp);
  before.set('/sign-in/code', await dashboard.openFor(withApp, '/sign-in/code'));
  const users = await UserDirectory.open(service.eventLog);
  const links = new UserLinks(users, { principal: { type: 'operator', id: 'test' } });
  const { token } = await links.invite({ name: 'invited@clinic.example', roles: { '*': 'viewer' } });
  users.close();
  before.set('/invitation', await dashboard.open(`/invitation?token=${token}`));
  page = await dashboard.openAs('admin', '/account');
  await analyse(page, workspace);
  // By whom a finding came is known a moment after the finding.
  await eventually(async () => {
    await page.goto(`/dashboard${root}/readiness`);
    expect(await page.locator('.worklist td[data-title="Since, by"]').first().innerText()).not.toBe('');
  });
}, 120_000);
afterAll(async () => {
  await dashboard.stop();
  await dashboard.service.stop();
});

const MOST_BYTES = 200_000;
const bytes = 'new Blob([document.documentElement.outerHTML]).size';

const longName = 'Featherstonehaugh-Cholmondeley Community Plan of the Heartland States';

/** Sends records with names that are as long as people give them, and gives their ids by the fields of encounters that refer to them. */
async function sendLongNames(client: Client): Promise<Record<string, string>> {
  const provider = { ...samples.provider(), last_name: phi(longName) };
  const facility = { ...samples.facility(), name: phi(longName) };
  await client.post('/integration/providers', provider);
  await client.post('/integration/facilities', facility);
  return { provider_id: provider.id, facility_id: facility.id };
}

/** Sends an encounter that is blocked for several reasons and has a filing limit, of a patient with a long name and payer. */
async function sendBlocked(client: Client, referred: Record<string, string>): Promise<void> {
  const payer = { ...samples.payer(), name: phi(longName), payer_type: 'Medicare' };
  const patient = {
    ...samples.patient(),
    last_name: phi(longName),
    primary_insurance: { payer_id: payer.id },
  };
  await client.post('/integration/payers', payer);
  await client.post('/integration/patients', patient);
  const visit = { date_of_service: '2026-03-14', is_completed: true, ...referred };
  await client.post('/integration/encounters', { ...samples.encounter(patient.id), ...visit });
}

/** On a phone and a desktop, tables of which a part is out of sight; everywhere fields of date and time that are narrower than what they show. */
const cutOff = `[
  ...[...document.querySelectorAll('.table-scroll')].filter((table) => (innerWidth < 640 || innerWidth >= 1440) && table.scrollWidth > table.clientWidth),
  ...[...document.querySelectorAll('input[type="datetime-local"]')].filter((field) => {
    const width = field.offsetWidth;
    field.style.width = 'max-content';
    const isNarrow = width > 0 && width < field.offsetWidth;
    field.style.width = '';
    return isNarrow;
  }),
].map(({ outerHTML }) => outerHTML.slice(0, 200))`;

const phone = { width: 375, height: 812 };
const tablet = { width: 768, height: 1024 };
const desktop = { width: 1440, height: 900 };

const tooWide = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';

/**
 * Fails where axe-core finds a flaw, the page or a table scrolls sideways, or a field is cut off: on a phone, a tablet and a
 * desktop; and on paper.
 */
async function expectGood(shown: Page): Promise<void> {
  const sizes = [phone, tablet, desktop];
  for (const size of sizes) {
    await shown.setViewportSize(size);
    await expectAccessibleIn(shown, 'light');
    expect(await shown.evaluate(cutOff)).toEqual([]);
    expect(await shown.evaluate(tooWide)).toBe(0);
  }
  for (const size of sizes.toReversed()) {
    await shown.setViewportSize(size);
    await expectAccessibleIn(shown, 'dark');
  }
  await shown.emulateMedia({ colorScheme: 'light' });
  await expectIsolated(shown);
  await expectPrintable(shown);
}

test.each(dashboardPages)(
  '%s has no flaw that axe-core finds, and fits on a phone',
  async (path) => {
    const shown = before.get(path) ?? page;
    if (shown === page) expect((await page.goto(`/dashboard${addressOf(path, things)}`))?.status()).toBe(200);
    expect(await shown.getByRole('heading', { level: 1 }).count()).toBe(1);
    await shown.locator('[aria-busy]').waitFor({ state: 'detached' });
    await expectGood(shown);
    if (process.env.TEST_PICTURES) await takePictures(shown, `page${path.replaceAll(/[/:]+/g, '-')}`);
    expect(await shown.evaluate(bytes)).toBeLessThan(MOST_BYTES);
  },
  120_000,
);

test.each([
  '/sign-in',
  '/workspaces/:workspace',
  '/workspaces/:workspace/readiness',
  '/workspaces/:workspace/records/:kind/:id',
  '/workspaces/:workspace/audit',
  '/workspaces/:workspace/webhooks/new',
  '/workspaces/:workspace/records/:kind/:id/erase',
])(
  'the focus is marked at every stop of %s, and fields are marked without it',
  async (path) => {
    const shown = before.get(path) ?? page;
    if (shown === page) await page.goto(`/dashboard${addressOf(path, things)}`);
    await shown.setViewportSize(desktop);
    await expectFocusSeen(shown);
  },
  60_000,
);

test('a name that runs right to left is on the pages that were looked at', async () => {
  await page.goto(`/dashboard${addressOf('/workspaces/:workspace/records/:kind/:id', things)}`);
  expect(await page.locator('h1 bdi').textContent()).toMatch(/فاطمة.*בן־גוריון/);
});

import { afterAll, beforeAll, expect, test } from 'vitest';
import { sessionsTable } from '../../src/dashboard/http/session.ts';
import { openStateStore } from '../../src/server/openStorage.ts';
import type { StateStore } from '../../src/storage/stateStore.ts';

import type { TestResponse } from '../support/client.ts';
import { type BrowserlessSession, readSession, signedIn } from '../support/dashboard.ts';
import { notePhi, phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, inShort, installationEvents, type TestService } from '../support/service.ts';
import { hookUrl } from '../support/webhooks.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  let stateStore: StateStore;
  let admin: BrowserlessSession;
  let root: string;
  beforeAll(async () => {
    service = await start();
    stateStore = await openStateStore(service.config.stateUrl);
    ({ visitor: admin } = await signedIn(service, 'admin'));
    root = `/workspaces/${service.workspaceId('clinic')}`;
    await service.createKey('clinic');
    await admin.get('/users');
  });
  afterAll(async () => {
    await stateStore.close();
    await service.stop();
  });

  const storedPath = async () => {
    const cookie = admin.cookies.get('chartledger_session') as string;
    return (await readSession(stateStore, cookie))?.shownOnce?.path;
  };

  /** Where an answer leads to, below the dashboard. */
  const target = ({ headers }: TestResponse) => String(headers.location).slice('/dashboard'.length);

  /** Sends a form that makes a secret, loads its page twice, and gives the secret and where the second time led. */
  async function made(path: string, form: Record<string, string>) {
    const sent = await admin.post(path, form);
    expect([sent.status, sent.text]).toEqual([303, expect.not.stringContaining('secret-value')]);
    const page = target(sent);
    const kept = await stateStore.page(sessionsTable, { partition: 'sessions', limit: 1_000 });
    expect(await storedPath()).toBe(page);
    const shown = await admin.get(page);
    expect([shown.status, shown.headers['cache-control']]).toEqual([200, 'no-store']);
    const secret = /id="secret-value"[^>]* value="([^"]+)"/.exec(shown.text)?.[1] ?? '';
    notePhi(secret);
    expect(JSON.stringify(kept)).not.toContain(secret);
    expect(await storedPath()).toBeUndefined();
    const again = await admin.get(page);
    const { status, text } = await admin.get(target(again));
    expect([again.status, again.text.includes(secret), status]).toEqual([303, false, 200]);
    expect(text).toContain('shown once');
    return { page, secret };
  }

  test('a key is made once, however often its page is loaded, and no store ever holds it as it is', async () => {
    let key = '';
    const appended = await appendedBy(service, async () => {
      const first = await made(`${root}/keys/new`, { name: 'EMR', permissions: 'write' });
      expect(first.secret).toMatch(/^clk_\w{38}$/);
      key = first.secret;
      const rotated = await made(first.page.replace(/made$/, 'rotate'), { expires_in: '3600' });
      expect(rotated.secret).toMatch(/^clk_\w{38}$/);
      expect(rotated.secret).not.toBe(key);
    });
    expect(appended).toEqual(['access: ApiKeyCreated', 'access: ApiKeyRotated']);
    expect((await service.as(key).post('/integration/payers', samples.payer())).status).toBe(200);
  });

  test('so are the secret of a webhook, and an invitation', async () => {
    const webhookEvents = await appendedBy(service, async () => {
      const url = hookUrl();
      const first = await made(`${root}/webhooks/new`, {
        url,
        payload: 'reference',
        unchanged: 'send',
        start: 'now',
      });
      expect(first.secret).toMatch(/^whsec_/);
      const rotated = await made(first.page.replace(/made$/, 'secret'), { overlap_seconds: '0' });
      expect(rotated.secret).toMatch(/^whsec_/);
    });
    expect(webhookEvents).toEqual(['webhooks: WebhookCreated', 'webhooks: WebhookSecretRotated']);
    const userEvents = await installationEvents(service, async () => {
      const invited = await made('/users/new', {
        name: phi('eve@clinic.example'),
        role: 'viewer',
        workspaces: '*',
      });
      expect(invited.secret).toContain('/dashboard/invitation?token=');
      const again = await made(invited.page.replace(/invited$/, 'invite'), {});
      expect(again.secret).not.toBe(invited.secret);
    });
    expect(inShort(userEvents)).toEqual(['UserInvited', 'UserInvitationIssued']);
  });

  test('a key without a permission is refused, and the form says why', async () => {
    const appended = await appendedBy(service, async () => {
      const { status, text } = await admin.post(`${root}/keys/new`, { name: 'Useless' });
      expect(status).toBe(400);
      expect(text).toContain('<title>Error: Create API key · Chartledger</title>');
      expect(text.split('A key needs at least one permission.')).toHaveLength(3);
    });
    expect(appended).toEqual([]);
  });
});

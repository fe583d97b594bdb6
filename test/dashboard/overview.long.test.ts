import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Role } from '../../src/modules/auth/users.ts';
import { AttemptRows, type DeliveryAttempt, recordAttempts } from '../../src/modules/webhooks/attempts.ts';
import { type BrowserlessSession, signedIn } from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';
import { createWebhook, withStateStore } from '../support/webhooks.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  const visitors = {} as Record<Role, BrowserlessSession>;
  beforeAll(async () => {
    service = await start();
    for (const role of ['admin', 'compliance', 'viewer'] as const) {
      visitors[role] = (await signedIn(service, role)).visitor;
    }
    await service.keys.createWorkspace(service.workspaceId('blank'));
    await service.post('/integration/payers', samples.payer());
    await service.post('/integration/payers', samples.payer());
    await service.post('/integration/payers', { id: phi('no-name') });
  });
  afterAll(() => service.stop());

  const overview = (label = 'clinic') => `/workspaces/${service.workspaceId(label)}`;
  const textOf = async (role: Role, path: string) => (await visitors[role].get(path)).text;
  /** Addresses below `/dashboard`, of the elements whose id begins so. */
  const linksOf = (text: string, id: string) =>
    [...text.matchAll(new RegExp(`<a id="${id}[^"]*" href="/dashboard([^"]+)"`, 'g'))].map(([, path]) =>
      (path as string).replaceAll('&amp;', '&'),
    );

  test.each([
    ['1h', 'minute', 'the last 60 minutes'],
    ['24h', 'hour', 'the last 24 hours'],
    ['7d', '6 hours', 'the last 7 days'],
    ['30d', 'day', 'the last 30 days'],
  ])('%s: a bar for each %s, which leads to what it counts', async (range, per, words) => {
    const path = `${overview()}?range=${range}`;
    let text = '';
    await eventually(async () => {
      text = await textOf('compliance', path);
      expect(text).toMatch(new RegExp(`Refusals per ${per}: 1 in ${words}`));
    });
    expect(text).toMatch(new RegExp(`Writes per ${per}: 2 in ${words}`));
    expect(text).toMatch(/ms<\/strong> <span class="muted">median, 99% within/);

    const [refusals = ''] = linksOf(text, 'refusals-');
    const refused = await textOf('compliance', refusals);
    expect(refused.match(/POST \/integration\/payers/g)).toHaveLength(1);
    const written = await Promise.all(linksOf(text, 'writes-\\d').map((to) => textOf('compliance', to)));
    expect(written.join('').match(/<summary><span>Payer upserted/g)).toHaveLength(2);
    const [ofKind = ''] = linksOf(text, 'written-payer');
    expect((await textOf('compliance', ofKind)).match(/<summary><span>Payer upserted/g)).toHaveLength(2);
    const [ofKey = ''] = linksOf(text, 'refused-to-');
    expect((await textOf('compliance', ofKey)).match(/POST \/integration\/payers/g)).toHaveLength(1);
  });

  test('a viewer sees the figures, but neither links nor keys, and looking appends nothing', async () => {
    let text = '';
    const appended = await appendedBy(service, async () => {
      text = await textOf('viewer', overview());
    });
    expect(appended).toEqual([]);
    expect(text).toMatch(/Refusals per minute: 1 in/);
    for (const id of ['refus', 'written-', 'writes-', 'requests-']) expect(linksOf(text, id)).toEqual([]);
    expect(text).not.toContain('Requests in the last 60 minutes by API key');
    expect((await visitors.viewer.get('/overview')).status).toBe(403);
  });

  test('a range that there is not is refused', async () => {
    for (const path of [overview(), `${overview()}/figures`, '/overview']) {
      const { status, text } = await visitors.admin.get(`${path}?range=1y`);
      expect(status).toBe(400);
      expect(text).toContain('1h, 24h, 7d, 30d');
    }
  });

  test('administrators see all workspaces side by side, and get to each', async () => {
    await service.keys.createWorkspace(service.workspaceId('quiet'));
    const page = (label: string) => {
      // The list begins with the workspace: an installation may have many.
      const after = service.workspaceId(label).slice(0, -1);
      return textOf('admin', `/overview?range=24h&after=${after}`);
    };
    const row = async (label: string) => {
      const first = new RegExp(
        `<tr><th scope="row"><a href="/dashboard${overview(label)}\\?range=24h">.*?</tr>`,
        's',
      );
      return first.exec(await page(label))?.[0].replaceAll(/<[^>]+>/g, ' ');
    };
    expect(await row('clinic')).toMatch(/\s3\s+2\s+1\s+0\s/);
    expect(await row('quiet')).toMatch(/\s0\s+0\s+0\s+0\s/);
    const [refusals = ''] = linksOf(await page('clinic'), `refusals-${service.workspaceId('clinic')}`);
    expect((await textOf('admin', refusals)).match(/POST \/integration\/payers/g)).toHaveLength(1);
  });

  test('a workspace that is not in use yet says what comes next, until all of it was done', async () => {
    const workspace = service.workspaceId('begun');
    const path = overview('begun');
    await service.keys.createWorkspace(workspace);
    const stepsDone = async () => />(\d) of 4 steps done/.exec(await textOf('admin', path))?.[1];
    const shows = (done: number) => eventually(async () => expect(await stepsDone()).toBe(String(done)));
    await shows(0);
    expect(await textOf('admin', path)).toContain(`href="/dashboard/workspaces/${workspace}/keys/new"`);
    expect(await textOf('admin', path)).toContain(`curl &#39;${service.url}/integration/payers&#39;`);
    const { key } = await service.createKey('begun', ['write', 'events', 'webhooks']);
    await shows(1);
    const client = service.as(key);
    await client.post('/integration/payers', {});
    await client.post('/integration/payers', samples.payer());
    await shows(2);
    await client.get('/events?limit=10');
    await shows(3);
    // Nothing answers there.
    await client.post('/integration/webhooks', { url: 'https://nobody.invalid/hook' });
    await eventually(async () => expect(await stepsDone()).toBeUndefined());
  });

  test.each([
    ['/records?kind=patients', 'POST /integration/patients'],
    ['/requests', 'GET /integration/requests/{id}'],
    ['/evidence', 'choose “Verify now”'],
    ['/holds', 'To put a record under hold'],
    ['/keys', 'Create one to send the first record'],
    ['/webhooks', 'GET /events'],
  ])('%s says what to do next where it lists nothing', async (list, next) => {
    const { status, text } = await visitors.admin.get(`${overview('blank')}${list}`);
    expect(status).toBe(200);
    expect(text.match(/<p class="empty">.*?<\/p>/gs)?.join()).toContain(next);
  });

  test('a message that was last tried before the range, and is to be tried after it, waits all the time', async () => {
    const client = service.as((await service.createKey('waiting', ['webhooks'])).key);
    const { id } = await createWebhook(client, { url: 'https://nobody.invalid/hook' });
    const shown: DeliveryAttempt = {
      ...{ message_id: 'msg_9TqXk2mVb4cR7sLw0ZdFyHn', type: 'chartledger.payer.upserted.v1', attempt: 6 },
      ...{ at: new Date(Date.now() - 5 * 3_600_000).toISOString(), duration_ms: 12 },
      outcome: 'retrying',
    };
    await withStateStore(service, (stateStore) =>
      recordAttempts(stateStore, [new AttemptRows(id).of({ shown, event: undefined })]),
    );
    const hour = await textOf('viewer', `${overview('waiting')}?range=1h`);
    expect(hour).toContain('Messages waiting to be retried: 1 now, at most 1 in the last 60 minutes');
    expect(hour).toMatch(/<dt>Lowest webhook delivery<\/dt><dd>none sent/);
    const day = await textOf('viewer', `${overview('waiting')}?range=24h`);
    expect(day).toMatch(/Failed attempts per hour: 1 in the last 24 hours/);
  });

  test('a bar of webhook attempts leads to those that were not taken then', async () => {
    const client = service.as((await service.createKey('hooked', ['write', 'webhooks'])).key);
    const { body } = await client.post('/integration/webhooks', { url: 'https://nobody.invalid/hook' });
    const payer = samples.payer();
    await client.post('/integration/payers', payer);
    let text = '';
    await eventually(async () => {
      text = await textOf('admin', `${overview('hooked')}?range=24h`);
      expect(text).toMatch(/Failed attempts per hour: \d+ in the last 24 hours/);
      // The two are read one after the other: an attempt may fail in between.
      expect(text).toMatch(/<a href="[^"]+">Webhook <bdi>https:\/\/nobody.invalid\/hook<\/bdi> fails<\/a>/);
    });
    expect(text).toMatch(/<dt>Lowest webhook delivery<\/dt><dd>0%/);
    expect(text).toMatch(/<svg role="img" aria-label="0 delivered, \d+ failed"/);
    const [attempts = ''] = linksOf(text, 'attempts-');
    expect(attempts).toContain(`/webhooks/${body.id}?page_token=`);
    expect(await textOf('admin', attempts.replace('#attempts', ''))).toContain(payer.id);
    expect(await textOf('viewer', `${overview('hooked')}?range=24h`)).not.toContain('nobody.invalid');
  });
});

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { pino } from 'pino';
import { SMTPServer } from 'smtp-server';
import { Webhook } from 'standardwebhooks';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { KeyDirectory } from '../../src/modules/auth/keyDirectory.ts';
import { UserManager } from '../../src/modules/auth/userManager.ts';
import { UserDirectory } from '../../src/modules/auth/users.ts';
import { Consumers, consumersTable } from '../../src/modules/eventStream/consumers.ts';
import { Keyring } from '../../src/modules/keyring.ts';
import { setTimeZone } from '../../src/modules/readiness/settings.ts';
import { WebhookDirectory } from '../../src/modules/webhooks/webhook.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { managedKeys } from '../../src/server/keys.ts';
import { openNotifier, startNotifications } from '../../src/server/notifications.ts';
import { openDocumentStore, openReadModels, openStateStore } from '../../src/server/openStorage.ts';

import { systemClock } from '../../src/storage/rateLimiters.ts';
import { type BrowserlessSession, signedIn } from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { changesBy, type TestService } from '../support/service.ts';
import { createWebhook, Delivery, HookEndpoint, openLoopback } from '../support/webhooks.ts';

const DAY_MS = 86_400_000;
const expiring = (ms: number) => ({ expires_at: new Date(ms).toISOString() });
const never = new AbortController().signal;

/** A mail server on this machine, which keeps what it takes. */
class MailServer {
  /** What came, with lines as they were before they were folded. */
  readonly mails: { to: string[]; raw: string }[] = [];
  refuses = false;
  readonly #server: SMTPServer;

  constructor() {
    this.#server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS', 'AUTH'],
      onRcptTo: (_address, _session, done) =>
        done(this.refuses ? Object.assign(new Error('no'), { responseCode: 450 }) : undefined),
      onData: (stream, { envelope }, done) => {
        text(stream).then((sent) => {
          const raw = sent.replaceAll(/=\r\n|\r\n(?= )/g, '').replaceAll('=3D', '=');
          this.mails.push({ to: envelope.rcptTo.map(({ address }) => address), raw });
          done();
        });
      },
    });
  }

  async listen(): Promise<string> {
    const server = this.#server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.#server.close(resolve));
  }
}

onEmbeddedEngines((start) => {
  const server = new MailServer();
  let service: TestService;
  let hook: HookEndpoint;
  let admin: BrowserlessSession;
  let root: string;
  let env: Record<string, string>;
  const stops: (() => unknown)[] = [];
  const person = phi('hl7-person');
  const mail = 'ada@clinic.example';

  beforeAll(async () => {
    env = { SMTP_URL: await server.listen(), SMTP_FROM: 'Chartledger <chartledger@clinic.example>' };
    hook = await HookEndpoint.open();
    service = await start({ ROLES: 'api,projector', ...openLoopback, ...env });
    root = `/workspaces/${service.workspaceId('clinic')}`;
    await service.createKey('clinic');
    ({ visitor: admin } = await signedIn(service, 'admin'));
  });
  afterEach(() => {
    server.mails.length = 0;
    hook.received.length = 0;
  });
  afterAll(async () => {
    for (const stop of stops) await stop();
    await service.stop();
    await Promise.all([server.close(), hook.down()]);
  });

  /** What a process that notifies users works with. */
  async function openStores() {
    const { eventLog, config } = service;
    const stores = {
      eventLog,
      readModels: await openReadModels(config.readModelUrl),
      stateStore: await openStateStore(config.stateUrl),
      documentStore: await openDocumentStore(config.documentsUrl),
      directory: await KeyDirectory.open(eventLog),
      webhookDirectory: await WebhookDirectory.open(eventLog),
      knownKeys: new Keyring(eventLog, managedKeys(config)),
    };
    stops.push(async () => {
      stores.directory.close();
      stores.webhookDirectory.close();
      await Promise.all([stores.readModels.close(), stores.stateStore.close(), stores.documentStore.close()]);
    });
    return stores;
  }
  const quiet = pino({ enabled: false });
  const configured = () => ({ ...service.config, publicUrl: 'https://chartledger.example' });

  /** Checks once, as a process does that has just started. */
  async function check(now = Date.now()): Promise<number> {
    const notifier = await openNotifier(configured(), quiet, await openStores());
    try {
      return await notifier.check(now, never);
    } finally {
      await notifier.close();
    }
  }
  const choose = async (form: Record<string, string>, visitor = admin, from = root) => {
    await visitor.get(`${from}/notifications`);
    return visitor.post(`${from}/notifications`, form);
  };
  const sendBad = () => {
    const lines = [
      `MSH|^~\\&|A|B|C|D|20260314||ADT^A28^ADT_A05|${phi('control')}|P|2.5.1`,
      'EVN|A28|20260314',
      `PID|1||${person}^^^HOSP^MR||Lopez^Ana||19841329|F`,
    ];
    const headers = { 'content-type': 'application/hl7-v2' };
    return service.send('/hl7/v2', { method: 'POST', headers, body: lines.join('\r') });
  };

  test('waiting messages are mailed once to who chose it, also after a restart, and again once others wait', async () => {
    await service.get('/integration/patients');
    expect(await changesBy(service, () => choose({ topics: 'messages_waiting', mail }))).toEqual([]);
    expect(await check()).toBe(0);
    expect(server.mails).toEqual([]);
    await sendBad();
    expect(await check()).toBe(0);
    expect(await check()).toBe(0);
    expect(server.mails.map(({ to }) => to)).toEqual([[mail]]);
    const [{ raw = '' } = {}] = server.mails;
    expect(raw).toContain('From: Chartledger <chartledger@clinic.example>');
    expect(raw).toContain('A message was not fully accepted and waits');
    expect(raw).toContain(`https://chartledger.example/dashboard${root}/messages?rejected=yes`);
    expect(raw).not.toContain(person);
    expect(raw).not.toContain('Lopez');
    const [, message = ''] =
      /href="\/dashboard([^"]+\/messages\/[\w-]+)"/.exec((await admin.get(`${root}/messages`)).text) ?? [];
    await admin.get(`${message}/put-aside`);
    await admin.post(`${message}/put-aside`, { reason: 'A test' });
    await check();
    await sendBad();
    await check();
    expect(server.mails).toHaveLength(2);
  });

  test('what could not be sent is tried again; the other way of sending does not wait for it', async () => {
    const secretPage = await choose({ topics: 'messages_waiting', mail, url: hook.url });
    const [, secret = ''] = /(whsec_[\w+/=]+)/.exec(secretPage.text) ?? [];
    expect((await admin.get(`${root}/notifications`)).text).not.toContain('whsec_');
    const own = service.workspaceId('retried');
    await service.createKey('retried');
    await choose({ topics: 'key_expires', mail, url: hook.url }, admin, `/workspaces/${own}`);
    await service.keys.createKey(own, 'Nightly sync', ['write'], {}, expiring(Date.now() + 3 * DAY_MS));
    server.refuses = true;
    expect(await check()).toBe(1);
    server.refuses = false;
    expect(server.mails).toEqual([]);
    const [first] = hook.received.filter(({ body }) => body.includes('Nightly sync'));
    expect(hook.received.filter(({ body }) => body.includes('Nightly sync'))).toHaveLength(1);
    expect(JSON.parse(first?.body ?? '')).toMatchObject({
      type: 'chartledger.notification',
      data: { topic: 'key_expires', text: expect.stringContaining('The API key Nightly sync expires on 20') },
    });
    const [waiting] = hook.received.filter(({ body }) => body.includes('messages_waiting'));
    expect(() =>
      new Webhook(secret).verify(waiting?.body ?? '', waiting?.headers as Record<string, string>),
    ).not.toThrow();
    expect(await check()).toBe(0);
    expect(server.mails).toHaveLength(1);
    expect(server.mails[0]?.raw).toContain('Nightly sync');
  });

  test('a key is named seven days before it expires, and not once it has', async () => {
    const own = service.workspaceId('expiring');
    await service.createKey('expiring');
    await choose({ topics: 'key_expires', mail }, admin, `/workspaces/${own}`);
    const expires = Date.now() + 20 * DAY_MS;
    await service.keys.createKey(own, 'EMR', ['write'], {}, expiring(expires));
    await check(expires - 8 * DAY_MS);
    expect(server.mails).toEqual([]);
    await check(expires + 1);
    expect(server.mails).toEqual([]);
    await check(expires - 6 * DAY_MS);
    expect(server.mails).toHaveLength(1);
  });

  test('users choose only what their role may see, and are notified of nothing once they lose it', async () => {
    const { visitor } = await signedIn(service, 'billing', service.workspaceId('clinic'));
    const form = (await visitor.get(`${root}/notifications`)).text;
    expect([...form.matchAll(/name="topics" value="(\w+)"/g)].map(([, topic]) => topic)).toEqual([
      'filing_limit_near',
    ]);
    const { visitor: integrator, id } = await signedIn(service, 'integrator');
    await choose({ topics: 'messages_waiting', mail: 'integrator@clinic.example' }, integrator);
    await choose({ topics: 'messages_waiting', mail: 'billing@clinic.example' }, visitor);
    await check();
    const others = () => server.mails.flatMap(({ to }) => to).filter((to) => to !== mail);
    expect(others()).toEqual(['integrator@clinic.example']);
    const users = await UserDirectory.open(service.eventLog);
    const manager = new UserManager(users, { principal: { type: 'operator', id: 'test' } });
    const own = service.workspaceId('disabled');
    await service.createKey('disabled');
    await choose(
      { topics: 'key_expires', mail: 'integrator@clinic.example' },
      integrator,
      `/workspaces/${own}`,
    );
    await manager.setState(id, 'disabled');
    users.close();
    await service.keys.createKey(own, 'EMR', ['write'], {}, expiring(Date.now() + DAY_MS));
    await check();
    expect(others()).toEqual(['integrator@clinic.example']);
  });

  test('a webhook that was disabled, or accepts nothing for ten minutes, is named by its host', async () => {
    const own = service.workspaceId('hooked');
    const client = service.as((await service.createKey('hooked', ['write', 'webhooks'])).key);
    const [gone, broken] = [await HookEndpoint.open(), await HookEndpoint.open()];
    stops.push(() => Promise.all([gone.down(), broken.down()]));
    [gone.answer, broken.answer] = [() => 410, () => 500];
    for (const { url } of [gone, broken]) await createWebhook(client, { url: `${url}?token=secret` });
    await choose({ topics: 'webhook_failing', mail }, admin, `/workspaces/${own}`);
    const delivery = await Delivery.start(service);
    stops.unshift(() => delivery.stop());
    await client.post('/integration/payers', samples.payer());
    await eventually(() => expect(broken.received.length).toBeGreaterThan(0));
    const host = (endpoint: HookEndpoint) => new URL(endpoint.url).host;
    await check();
    expect(server.mails).toEqual([]);
    await eventually(async () => {
      await check(Date.now() + 11 * 60_000);
      expect(server.mails[0]?.raw).toContain(`The webhook to ${host(broken)} has accepted nothing since`);
    });
    expect(server.mails[0]?.raw).not.toContain('secret');
    await choose({ topics: 'webhook_disabled', mail }, admin, `/workspaces/${own}`);
    await eventually(async () => {
      await check();
      expect(server.mails[1]?.raw).toContain(`The webhook to ${host(gone)} was disabled.`);
    });
  });

  test('a reader or sink that is behind for an hour, or silent for a day, is named', async () => {
    const own = service.workspaceId('consumed');
    const client = service.as((await service.createKey('consumed')).key);
    await client.post('/integration/payers', samples.payer());
    const { stateStore } = await openStores();
    const consumers = new Consumers({ stateStore, clock: systemClock });
    const contact = { workspace: own, key: null, view: 'full', unchanged: 'send' } as const;
    const wants = { late: ['PayerUpserted'], silent: ['PatientUpserted'] };
    for (const [name, eventTypes] of Object.entries(wants))
      await consumers.connect({ ...contact, name, type: 'sink', eventTypes }, false);
    await consumers.flush(() => true);
    await choose({ topics: 'consumer_behind', mail }, admin, `/workspaces/${own}`);
    await check();
    expect(server.mails).toEqual([]);
    const texts = () => server.mails.map(({ raw }) => raw).join('');
    await check(Date.now() + 2 * 60 * 60_000);
    expect(texts()).toContain('An event has waited for the sink late for an hour.');
    expect(texts()).not.toContain('silent');
    await check(Date.now() + 2 * DAY_MS);
    expect(texts()).toContain('The sink silent has made no contact for a day.');
    const other = service.workspaceId('consumed_too');
    await service.createKey('consumed_too');
    await choose({ topics: 'consumer_behind', mail }, admin, `/workspaces/${other}`);
    const stores = await openStores();
    const reads: string[] = [];
    const counted = new Proxy(stores.stateStore, {
      get: (target, name) => {
        const method = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        return (...args: unknown[]) => {
          if (args[0] === consumersTable) reads.push(String(name));
          return method.apply(target, args);
        };
      },
    });
    const notifier = await openNotifier(configured(), quiet, { ...stores, stateStore: counted });
    await notifier.check(Date.now(), never).finally(() => notifier.close());
    expect(reads).toEqual(['scan']);
  });

  test('a record that was opened with a reason is named by the time only', async () => {
    const own = service.workspaceId('glass');
    const client = service.as((await service.createKey('glass')).key);
    const patient = samples.patient();
    await client.post('/integration/patients', patient);
    await service.keys.setBreakGlass(own, 'allow');
    await choose({ topics: 'break_glass', mail }, admin, `/workspaces/${own}`);
    const { visitor } = await signedIn(service, 'viewer', own);
    const path = `/workspaces/${own}/records/patients/${patient.id}`;
    await eventually(async () => expect((await visitor.get(path)).text).toContain('with a reason'));
    await check();
    expect(server.mails).toEqual([]);
    await visitor.post(`${path}/break-glass`, { reason: 'The claims desk is closed.' });
    await eventually(async () => {
      await check();
      expect(server.mails).toHaveLength(1);
    });
    const [{ raw } = { raw: '' }] = server.mails;
    expect(raw).toContain('A user without the right for a record opened it with a reason at');
    for (const hidden of [patient.id, 'claims desk', 'viewer@']) expect(raw).not.toContain(hidden);
    await check();
    expect(server.mails).toHaveLength(1);
  });

  test('an address that is none, and a URL that may not be sent to, are refused', async () => {
    const { status, text: page } = await choose({ topics: 'messages_waiting', mail: 'ada', url: 'ftp://a' });
    expect(status).toBe(400);
    expect(page).toContain('Email address must be an email address.');
    expect(page).toMatch(/id="url-error">Must /);
    expect(page).toContain('value="ada"');
  });

  test('one process at a time notifies, until it stops', async () => {
    const own = service.workspaceId('led');
    await service.createKey('led');
    await service.keys.createKey(own, 'Led', ['write'], {}, expiring(Date.now() + DAY_MS));
    await choose({ topics: 'key_expires', mail }, admin, `/workspaces/${own}`);
    const running = await startNotifications(configured(), quiet, await openStores(), 50);
    await eventually(() => expect(server.mails).toHaveLength(1));
    await running.stop();
    await check();
    expect(server.mails).toHaveLength(1);
  });

  test('the report of a month is named once, when the month has ended in the time zone of the workspace', async () => {
    const workspace = service.workspaceId('reported');
    await service.createKey('reported');
    const operator = { workspace, principal: { type: 'operator', id: 'test' }, requestId: uuidv7() } as const;
    await setTimeZone(service.eventLog, operator, 'America/Chicago');
    await choose({ topics: 'access_report', mail }, admin, `/workspaces/${workspace}`);
    const named = () =>
      server.mails.flatMap(({ to, raw }) => (raw.includes('/audit/report') ? [{ to, raw }] : []));
    for (const [now, month] of [
      ['2031-03-01T06:00:00.000Z', '2031-02'],
      ['2031-04-01T04:59:59.999Z', '2031-02'],
      ['2031-04-01T05:00:00.000Z', '2031-03'],
      ['2031-04-30T12:00:00.000Z', '2031-03'],
    ] as const) {
      await check(Date.parse(now));
      const { to, raw = '' } = named().at(-1) ?? {};
      expect([now, to]).toEqual([now, [mail]]);
      expect(raw).toContain(`The report of access out of the ordinary in ${month} is complete.`);
      expect(raw).toContain(`/dashboard/workspaces/${workspace}/audit/report?month=${month}`);
    }
    expect(named()).toHaveLength(2);
  });

  test('SMTP_URL and SMTP_FROM belong together', () => {
    const { SMTP_URL = '', SMTP_FROM = '' } = env;
    expect(() => loadConfig({ SMTP_URL })).toThrow('SMTP_URL and SMTP_FROM must be set together');
    expect(() => loadConfig({ SMTP_FROM })).toThrow('SMTP_URL and SMTP_FROM must be set together');
    expect(() => loadConfig({ SMTP_URL: 'https://mail.example', SMTP_FROM })).toThrow('SMTP_URL');
    expect(loadConfig({ SMTP_URL, SMTP_FROM }).mail).toEqual({ url: SMTP_URL, from: SMTP_FROM });
  });
});

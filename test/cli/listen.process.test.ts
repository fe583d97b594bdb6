import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { generateApiKey } from '../../src/modules/auth/apiKeys.ts';
import { spawnCli, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { CliProcess } from '../support/processes.ts';
import { samples } from '../support/samples.ts';
import { freePort, onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';
import { HookEndpoint, type HookMessage } from '../support/webhooks.ts';

const INTERRUPTED = 130;
const TYPE = 'chartledger.payer.upserted.v1';

onEmbeddedEngines((start) => {
  let service: TestService;
  let key: string;
  beforeAll(async () => {
    service = await start({ PORT: String(await freePort()) });
    key = (await service.createKey('clinic', ['events'])).key;
  });
  afterAll(() => service.stop());

  const listenTo = (url: string, args: string[] = [], env: Record<string, string> = {}) =>
    new CliProcess(['listen', '--forward-to', url, '--url', service.url, ...args], {
      CHARTLEDGER_API_KEY: key,
      ...env,
    });

  async function send(...names: string[]): Promise<string> {
    const payer = samples.payer();
    for (const name of names) {
      expect((await service.post('/integration/payers', { ...payer, name })).status).toBe(200);
    }
    return payer.id;
  }

  const accepted = (endpoint: HookEndpoint, count: number) =>
    eventually(() => {
      if (endpoint.accepted.length < count) throw new Error(`${endpoint.accepted.length} messages`);
      return endpoint.accepted;
    }, 60_000);

  const verified = (secret: string, { body, headers }: HookMessage) =>
    new Webhook(secret).verify(body, headers as Record<string, string>) as Record<string, unknown>;

  test('each event from now on is forwarded once, signed with the secret that was shown', async () => {
    await send('before');
    const endpoint = await HookEndpoint.open();
    const cli = listenTo(endpoint.url);
    const secret = /^Signing secret: (whsec_\S+)$/m.exec(await cli.told(/Forwarding events/))?.[1] as string;
    let id = '';
    const appended = await appendedBy(service, async () => {
      id = await send('one', 'two', 'two');
      await cli.lines(3);
    });
    expect(appended).toEqual(Array(3).fill(`clinic.payer-${id}: PayerUpserted`));
    const messages = endpoint.received.map((message) => verified(secret, message));
    expect(messages.map(({ type, subject, data }) => ({ type, subject, data }))).toEqual([
      {
        type: TYPE,
        subject: `payer/${id}`,
        data: { version: 1, outcome: 'created', changed: ['id', 'name'] },
      },
      { type: TYPE, subject: `payer/${id}`, data: { version: 2, outcome: 'updated', changed: ['name'] } },
      { type: TYPE, subject: `payer/${id}`, data: { version: 3, outcome: 'unchanged', changed: [] } },
    ]);
    expect(new Set(endpoint.received.map((message) => message.id)).size).toBe(3);
    const { code, stdout, stderr } = await cli.end('SIGINT');
    expect(code).toBe(INTERRUPTED);
    expect(stdout.trimEnd().split('\n')).toEqual(
      messages.map(({ id, sequence }) =>
        expect.stringMatching(new RegExp(`^${TYPE} {2}${id} {2}${sequence} {2}200 {2}\\d+ ms$`)),
      ),
    );
    expect(stderr).toContain(`To go on where this ended: --after ${messages[2]?.sequence}\n`);
    expect(stdout + stderr).not.toContain(id);
    await endpoint.down();
  });

  test('what its target does not take while it is away, and what is recorded while the service is, arrives later', async () => {
    const endpoint = await HookEndpoint.open();
    const cli = listenTo(endpoint.url);
    await cli.told(/Forwarding events/);
    await endpoint.down();
    const first = await send('one', 'two');
    await cli.told(/takes nothing \(connection\); trying again for five minutes/);
    await endpoint.up();
    await accepted(endpoint, 2);
    await service.restart();
    const second = await send('three');
    await accepted(endpoint, 3);
    expect(Object.fromEntries(endpoint.versions())).toEqual({
      [`payer/${first}`]: [1, 2],
      [`payer/${second}`]: [1],
    });
    expect(endpoint.accepted).toHaveLength(3);
    expect((await cli.end('SIGTERM')).stderr).toMatch(/It is asked again|it is made again/);
    await endpoint.down();
  });

  test('an event that is not accepted is tried three times and passed over', async () => {
    const endpoint = await HookEndpoint.open();
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    const cli = listenTo(endpoint.url, ['--payload', 'full'], { CHARTLEDGER_WEBHOOK_SECRET: secret });
    expect(await cli.told(/Forwarding events/)).not.toContain(secret);
    endpoint.answer = ({ version }) => (version === 1 ? 500 : 200);
    await send('one', 'two');
    const lines = await cli.lines(2);
    expect(lines[0]).toMatch(/ {2}500 after 3 tries {2}\d+ ms$/);
    expect(lines[1]).toMatch(/ {2}200 {2}\d+ ms$/);
    expect(endpoint.received.map(({ version }) => version)).toEqual([1, 1, 1, 2]);
    for (const message of endpoint.received) {
      expect(verified(secret, message)).toMatchObject({ data: { sent: { name: expect.any(String) } } });
    }
    await cli.end('SIGINT');
    await endpoint.down();
  });

  test('it goes on after a position, with the types that are asked for', async () => {
    const endpoint = await HookEndpoint.open();
    const before = await service.as(key).get('/events?from=9999-01-01');
    await send('one');
    const patient = samples.patient();
    expect((await service.post('/integration/patients', patient)).status).toBe(200);
    const position = String(before.headers['chartledger-position']);
    const types = 'chartledger.patient.upserted.v1';
    const cli = listenTo(endpoint.url, ['--after', position, '--types', types]);
    const [message] = await accepted(endpoint, 1);
    expect(message).toMatchObject({ subject: `patient/${patient.id}`, type: types });
    await cli.end('SIGINT');
    expect(endpoint.received).toHaveLength(1);
    await endpoint.down();
  });

  test('tail prints a line for each event, or all of it', async () => {
    const env = { CHARTLEDGER_API_KEY: key };
    const tail = new CliProcess(['events', 'tail', '--url', service.url, '--after', 'start'], env);
    const whole = new CliProcess(['events', 'tail', '--url', service.url, '--after', 'start', '--json'], env);
    const id = await send('last');
    const line = await eventually(async () => {
      const found = (await tail.lines(1)).find((one) => one.includes(`payer/${id}`));
      if (found === undefined) throw new Error('not yet');
      return found;
    });
    expect(line).toMatch(new RegExp(`^\\S+Z {2}${TYPE} {2}payer/${id} {2}version 1 {2}\\d{16}$`));
    const json = await eventually(async () => {
      const found = (await whole.lines(1)).find((one) => one.includes(`payer/${id}`));
      if (found === undefined) throw new Error('not yet');
      return JSON.parse(found);
    });
    expect(json).toMatchObject({ specversion: '1.0', data: { version: 1, sent: { id, name: 'last' } } });
    expect((await tail.end('SIGINT')).code).toBe(INTERRUPTED);
    expect((await whole.end('SIGINT')).code).toBe(INTERRUPTED);
  });

  test('a key that may not, or that is no longer good, is one line and exit code 1', async () => {
    const tailWith = (given: string) =>
      spawnCli(['events', 'tail', '--url', service.url], { env: { CHARTLEDGER_API_KEY: given } });
    expect(await tailWith(service.key as string)).toMatchObject({
      code: 1,
      stdout: '',
      stderr:
        "The service refused the API key (403): The API key lacks the permission 'events' or 'events:limited' or 'events:deidentified'.\n",
    });
    await send('one');
    const made = await service.createKey('clinic', ['events']);
    const file = join(temporaryFolder(), 'key');
    writeFileSync(file, `${made.key}\n`, { mode: 0o600 });
    const cli = new CliProcess(
      ['events', 'tail', '--url', service.url, '--key-file', file, '--after', 'start'],
      {},
    );
    await cli.lines(1);
    await service.keys.setKeyState(made.id, 'deactivated');
    const { code, stderr } = await cli.exit();
    expect(code).toBe(1);
    expect(stderr).toMatch(/\nThe service refused the API key \(403\): [^\n]*deactivated[^\n]*\n$/);
    expect((await tailWith(generateApiKey())).stderr).toMatch(
      /^The service refused the API key \(401\): [^\n]+\n$/,
    );
  });
});

test('a service that is not there, and a place that is none, are one line', async () => {
  const url = `http://127.0.0.1:${await freePort()}`;
  const usage = await spawnCli(['listen', '--forward-to', 'localhost:4000'], { env: {} });
  expect(usage).toMatchObject({ code: 2, stdout: '' });
  expect(usage.stderr).toContain('Specify an address such as http://localhost:4000/hooks.');
  const wrong = await spawnCli(['events', 'tail', '--after', 'yesterday'], { env: {} });
  expect(wrong.stderr).toContain('Specify now, start, or the position of an event');
  const env = { CHARTLEDGER_API_KEY: generateApiKey() };
  expect(await spawnCli(['events', 'tail', '--url', url], { env })).toEqual({
    code: 1,
    stdout: '',
    stderr: `The service at ${url} does not respond (ECONNREFUSED). Is it running? To change the address, use --url.\n`,
  });
});

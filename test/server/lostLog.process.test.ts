import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openEventLog } from '../../src/server/openStorage.ts';
import { runCli } from '../support/cli.ts';
import { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { ServiceProcess } from '../support/processes.ts';
import { createEncounter, documentForm, documentsPath, samples } from '../support/samples.ts';
import { readAll } from '../support/service.ts';

const PAYERS = '/integration/payers';
/** Each test starts several processes. */
const LONG_MS = 120_000;
let folder: string;
let running: ServiceProcess | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chartledger-lost-'));
});
afterEach(async () => {
  await running?.end();
  rmSync(folder, { recursive: true, force: true });
});

const file = (name: string) => join(folder, name);

function launch(env: Record<string, string> = {}): ServiceProcess {
  running = new ServiceProcess({ DATA_DIR: folder, LOG_LEVEL: 'error', RATE_LIMIT_PER_MINUTE: '0', ...env });
  return running;
}

/** Starts it for the first time, or as if. */
async function first(env?: Record<string, string>): Promise<Client> {
  const process = launch(env);
  const url = await process.url();
  return new Client(url, /x-api-key: (clk_\w+)/.exec(process.stderr)?.[1]);
}

function lose(...names: string[]): void {
  for (const name of names) {
    for (const suffix of ['', '-wal', '-shm']) rmSync(file(name + suffix), { force: true });
  }
}

/** What was written and listed: the read models know their log. */
async function write(client: Client): Promise<void> {
  expect((await client.post(PAYERS, samples.payer())).status).toBe(200);
  await eventually(async () => expect((await client.get(PAYERS)).body.items).toHaveLength(1));
}

const losses: [string, string[], RegExp][] = [
  [
    'documents and read models',
    ['events.db'],
    /the documents in file:\S+ and the read models in sqlite:\S+ belong/,
  ],
  ['documents', ['events.db', 'read-models.db'], /that the documents in file:\S+documents belong/],
];
test.each(losses)(
  'without the log that %s know it does not start, unless it is allowed to',
  async (_what, lost, named) => {
    await write(await first());
    await running?.end();
    lose(...lost);

    for (let tries = 0; tries < 2; tries += 1) {
      const { code, stdout, stderr } = await launch().exit();
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(named);
      expect(stderr).toContain('start once with ALLOW_OTHER_EVENT_LOG=true');
      expect(stderr.trim().split('\n')).toHaveLength(1);
    }

    const anew = await first({ ALLOW_OTHER_EVENT_LOG: 'true' });
    await eventually(async () => expect((await anew.get(PAYERS)).body.items).toEqual([]));
    await write(anew);
    await running?.end();
    const again = new Client(await launch().url(), anew.key);
    expect((await again.get(PAYERS)).body.items).toHaveLength(1);
  },
  LONG_MS,
);

test(
  'after its log was deleted a running service acknowledges nothing, is not ready, and says so in one line',
  async () => {
    const client = await first();
    await write(client);
    lose('events.db');

    const answers = [];
    for (let n = 0; n < 20; n += 1) answers.push((await client.post(PAYERS, samples.payer())).status);
    expect(answers).toEqual(answers.map(() => 503));
    await eventually(async () => {
      expect(await client.get('/readyz')).toMatchObject({
        status: 503,
        body: { status: 'unavailable', roles: { api: 'unavailable' }, event_log: 'unavailable' },
      });
    });
    await eventually(() => expect(problems()).toHaveLength(1));
    expect(problems()[0]).toMatchObject({ level: 50, store: 'event_log' });
    expect(problems()[0].problem).toMatch(
      /events\.db was deleted or replaced while the service runs\. Put the same one back/,
    );
  },
  LONG_MS,
);

test(
  'after its documents were moved away uploads are refused, all else goes on, and one line says so',
  async () => {
    const client = await first();
    await write(client);
    const encounter = await createEncounter(client);
    const upload = async () =>
      (await client.upload(documentsPath(encounter), documentForm({ document_id: 'scan' }))).status;
    expect(await upload()).toBe(200);
    renameSync(file('documents'), file('aside'));
    expect(await upload()).toBe(503);
    expect((await client.get(documentsPath(encounter, 'scan'))).status).toBe(503);
    await eventually(async () => {
      expect(await client.get('/readyz')).toMatchObject({
        status: 200,
        body: { status: 'ready', degraded: ['document_store'], document_store: 'unavailable' },
      });
    });
    expect((await client.post(PAYERS, samples.payer())).status).toBe(200);
    await eventually(() => expect(problems()).toHaveLength(1), 30_000);
    expect(problems()[0].problem).toContain('documents/objects was deleted or replaced');
    renameSync(file('aside'), file('documents'));
    expect(await upload()).toBe(200);
  },
  LONG_MS,
);

test(
  'after its data folder was moved away nothing is created in its place, and all goes on once it is back',
  async () => {
    const client = await first();
    await write(client);
    const aside = `${folder}-aside`;
    renameSync(folder, aside);
    await eventually(async () => {
      const { body } = await client.get('/readyz');
      expect(body).toMatchObject({
        status: 'unavailable',
        event_log: 'unavailable',
        state_store: 'unavailable',
      });
    });
    expect((await client.post(PAYERS, samples.payer())).status).toBe(503);
    expect(existsSync(folder)).toBe(false);
    renameSync(aside, folder);
    await eventually(async () => expect((await client.get('/readyz')).status).toBe(200));
    expect((await client.post(PAYERS, samples.payer())).status).toBe(200);
  },
  LONG_MS,
);

test(
  'without the state store that there was neither a start nor a command creates one, unless it is allowed to',
  async () => {
    const client = await first();
    await write(client);
    await running?.end();
    const before = await logged();
    lose('state.db');

    const refusal = `There is no state store at ${file('state.db')}, although a service has run on this event log.`;
    for (let tries = 0; tries < 2; tries += 1) {
      const { code, stdout, stderr } = await launch().exit();
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toContain(refusal);
      expect(stderr).toContain('start once with ALLOW_NEW_STATE_STORE=true');
      expect(stderr.trim().split('\n')).toHaveLength(1);
    }
    const cli = (...args: string[]) => runCli(args, { env: { DATA_DIR: folder } });
    const passphrase = file('passphrase');
    writeFileSync(passphrase, 'a long enough passphrase');
    for (const command of [
      ['webhooks', 'list', '--workspace', 'default'],
      ['records', 'erase', 'payer', 'payer-1', '--workspace', 'default', '--reason', 'Request 2026-117'],
      ['backup', join(folder, 'backup'), '--passphrase-file', passphrase],
    ]) {
      const { code, stderr } = await cli(...command);
      expect([code, stderr]).toEqual([1, expect.stringContaining(refusal)]);
    }
    expect(JSON.parse((await cli('doctor', '--json')).stdout)).toContainEqual(
      expect.objectContaining({ check: 'state_store', status: 'fail', code: 'state_lost' }),
    );
    expect(existsSync(file('state.db'))).toBe(false);
    expect(await logged()).toEqual(before);

    const allowed = new Client(await launch({ ALLOW_NEW_STATE_STORE: 'true' }).url(), client.key);
    expect((await allowed.post(PAYERS, samples.payer())).status).toBe(200);
    await running?.end();
    await launch().url();
  },
  LONG_MS,
);

test(
  'before its first start a service has no state store: commands and the start create it',
  async () => {
    const cli = (...args: string[]) => runCli(args, { env: { DATA_DIR: folder } });
    expect((await cli('workspaces', 'create', 'clinic', '--init')).code).toBe(0);
    expect((await cli('webhooks', 'list', '--workspace', 'clinic')).code).toBe(0);
    lose('state.db');
    await launch().url();
  },
  LONG_MS,
);

/** The types of the events in the log. */
async function logged(): Promise<string[]> {
  const eventLog = await openEventLog(`sqlite:${file('events.db')}`);
  const events = await readAll(eventLog);
  await eventLog.close();
  return events.map(({ type }) => type);
}

/** The error lines of the service about its stores. */
// biome-ignore lint/suspicious/noExplicitAny: lines are asserted on, field by field
function problems(): any[] {
  const lines = running?.stdout.split('\n') ?? [];
  return lines
    .filter((line) => line.startsWith('{') && line.includes('"store"'))
    .map((line) => JSON.parse(line));
}

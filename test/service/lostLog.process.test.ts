import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Client } from '../support/client.ts';
import { createEncounter, documentForm, documentsPath } from '../support/documents.ts';
import { eventually } from '../support/eventually.ts';
import { samples } from '../support/samples.ts';
import { ServiceProcess } from '../support/serviceProcess.ts';

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
  return new Client(url, /x-api-key: (clk_\w+)/.exec(process.stdout)?.[1]);
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
  'a state store that is missing at a start is not created without a word',
  async () => {
    const { key } = await first({ LOG_LEVEL: 'warn' });
    expect(running?.stdout).not.toContain('no state store');
    await running?.end();
    lose('state.db');
    const again = new Client(await launch({ LOG_LEVEL: 'warn' }).url(), key);
    expect((await again.get('/readyz')).status).toBe(200);
    expect(running?.stdout).toContain('there was no state store beside the event log');
  },
  LONG_MS,
);

/** The error lines of the service about its stores. */
// biome-ignore lint/suspicious/noExplicitAny: lines are asserted on, field by field
function problems(): any[] {
  const lines = running?.stdout.split('\n') ?? [];
  return lines
    .filter((line) => line.startsWith('{') && line.includes('"store"'))
    .map((line) => JSON.parse(line));
}

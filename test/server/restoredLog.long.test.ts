import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { recordsModel } from '../../projections/records.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { samples } from '../support/samples.ts';
import { logLines, startTestService, type TestService } from '../support/service.ts';

const PAYERS = '/integration/payers';
const LONG_MS = 120_000;
let folder: string;
let running: TestService | undefined;
let key: string | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chartledger-restore-'));
  key = undefined;
});
afterEach(async () => {
  await stop();
  rmSync(folder, { recursive: true, force: true });
});

const file = (name: string) => join(folder, name);

async function start(env: Record<string, string> = {}): Promise<Client> {
  running = await startTestService({ DATA_DIR: folder, ...env });
  key ??= running.key;
  return running.as(key);
}

async function stop(): Promise<void> {
  await running?.stop();
  running = undefined;
}

/** The log as it is now, whatever goes on in it. */
function backUp(): void {
  const db = new DatabaseSync(file('events.db'));
  db.exec(`VACUUM INTO '${file('backup.db')}'`);
  db.close();
}

async function restore(): Promise<void> {
  await stop();
  for (const suffix of ['-wal', '-shm']) rmSync(file(`events.db${suffix}`), { force: true });
  copyFileSync(file('backup.db'), file('events.db'));
}

async function create(client: Client, count: number): Promise<string[]> {
  const payers = Array.from({ length: count }, samples.payer);
  for (const payer of payers) expect((await client.post(PAYERS, payer)).status).toBe(200);
  return payers.map(({ id }) => id);
}

const listed = async (client: Client) => {
  const { status, body } = await client.get(PAYERS);
  expect(status).toBe(200);
  return body.items.map(({ id }: { id: string }) => id);
};

test(
  'beside an older log, read models are built anew, loudly, and show what the log holds',
  async () => {
    const before = await start();
    const kept = await create(before, 3);
    expect(await listed(before)).toEqual(kept);
    backUp();
    await create(before, 30);
    expect(await listed(before)).toHaveLength(33);
    await restore();

    const after = await start();
    const fresh = await create(after, 2);
    await eventually(async () => expect(await listed(after)).toEqual([...kept, ...fresh]));
    const told = logLines('"mismatch":"beyond_the_log"');
    expect(told).toContainEqual(
      expect.objectContaining({
        level: 50,
        model: recordsModel,
        msg: expect.stringContaining('holds events that the event log no longer has'),
      }),
    );
  },
  LONG_MS,
);

test(
  'an older log that has outgrown them before anything builds them anew gives away nothing that it lost',
  async () => {
    const before = await start();
    const kept = await create(before, 3);
    backUp();
    await create(before, 2);
    expect(await listed(before)).toHaveLength(5);
    await restore();

    const fresh = await create(await start({ ROLES: 'api' }), 10);
    await stop();
    const after = await start();
    await eventually(async () => expect(await listed(after)).toEqual([...kept, ...fresh]));
  },
  LONG_MS,
);

test(
  'while nothing builds them anew, they are not served',
  async () => {
    const before = await start();
    await create(before, 1);
    backUp();
    await create(before, 30);
    await listed(before);
    await restore();

    const after = await start({ ROLES: 'api' });
    const answers = await Promise.all(Array.from({ length: 5 }, () => after.send(PAYERS)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 503));
  },
  LONG_MS,
);

import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { spawnCli } from '../support/cli.ts';
import { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { ServiceProcess } from '../support/processes.ts';
import { samples } from '../support/samples.ts';

const PAYERS = '/integration/payers';
const LONG_MS = 120_000;
const PAGE = 4_096;
const MANY = 100;
let folder: string;
let path: string;
let service: ServiceProcess;
let client: Client;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'chartledger-trouble-'));
  path = join(folder, 'events.db');
  service = new ServiceProcess({ DATA_DIR: folder, LOG_LEVEL: 'warn', RATE_LIMIT_PER_MINUTE: '0' });
  const url = await service.url();
  client = new Client(url, /x-api-key: (clk_\w+)/.exec(service.stderr)?.[1]);
});
afterEach(async () => {
  await service.end();
  rmSync(folder, { recursive: true, force: true });
});

const post = async () => (await client.post(PAYERS, samples.payer())).status;

/** Nothing is acknowledged, readiness says so, and one error line tells what to do. */
async function expectTrouble(problem: RegExp): Promise<void> {
  expect(await post()).toBe(503);
  const { status, body } = await client.get('/readyz');
  expect([status, body.status, body.roles.api, body.event_log]).toEqual([
    503,
    'unavailable',
    'unavailable',
    'unavailable',
  ]);
  await eventually(() => {
    const lines = service.stdout.split('\n').filter((line) => line.includes('"store":"event_log"'));
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 50, problem: expect.stringMatching(problem) },
    ]);
  });
}

async function expectRecovery(): Promise<void> {
  await eventually(async () => expect((await client.get('/readyz')).status).toBe(200));
  expect(await post()).toBe(200);
}

const limitFiles = (bytes: number | 'unlimited') =>
  execFileSync('prlimit', [`--pid=${service.child.pid}`, `--fsize=${bytes}:unlimited`]);

(process.platform === 'linux' ? test : test.skip)(
  'a disk that takes no more: not ready and named, until it does again',
  async () => {
    expect(await post()).toBe(200);
    limitFiles(PAGE);
    await expectTrouble(
      /events\.db cannot be read or written: its disk fails, or a limit on the size of files/,
    );
    await Promise.all(Array.from({ length: MANY }, async () => expect(await post()).toBe(503)));
    const causes = service.stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
      .map(({ level, msg, problem, task, store, error }) =>
        JSON.stringify({ level, msg, problem, task, store, at: error?.stack?.[0] }),
      );
    expect(causes.filter((cause) => cause.includes('a store is unavailable')).length).toBeGreaterThan(0);
    expect(causes.filter((cause, index) => causes.indexOf(cause) !== index)).toEqual([]);
    expect(causes.length).toBeLessThan(MANY);
    limitFiles('unlimited');
    await expectRecovery();
  },
  LONG_MS,
);

test(
  'a log that another process holds locked: not ready and named, until it is free',
  async () => {
    const other = new DatabaseSync(path, { timeout: 10_000 });
    other.exec('BEGIN IMMEDIATE');
    await expectTrouble(/events\.db is locked by another process/);
    other.exec('ROLLBACK');
    other.close();
    await expectRecovery();
  },
  LONG_MS,
);

test(
  'a damaged log: verify says so, and the service does, once it has come upon it',
  async () => {
    const text = 'x'.repeat(900);
    for (let n = 0; n < 60; n += 1)
      expect((await client.post(PAYERS, { ...samples.payer(), website: text, city: text })).status).toBe(200);
    await service.end();
    const file = openSync(path, 'r+');
    for (let page = 16; page * PAGE < statSync(path).size; page += 1)
      writeSync(file, Buffer.alloc(PAGE, 0xee), 0, PAGE, page * PAGE);
    closeSync(file);

    const { code, stderr } = await spawnCli(['verify', '--workspace', 'default'], {
      env: { DATA_DIR: folder },
    });
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('events.db is damaged. Stop the service and restore'),
    ]);
  },
  LONG_MS,
);

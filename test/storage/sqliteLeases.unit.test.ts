import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { SqliteLeases } from '../../src/storage/engines/sqlite/leases.ts';

const LEASE_MS = 4_000;

const folder = mkdtempSync(join(tmpdir(), 'chartledger-leases-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => {
  vi.restoreAllMocks();
});

/** Renews a lease in the middle of a long transaction of its own, as other writers of the file may delay it. */
const renewal = `
  const { DatabaseSync } = require('node:sqlite');
  const { parentPort, workerData } = require('node:worker_threads');
  const db = new DatabaseSync(workerData);
  db.exec('BEGIN IMMEDIATE');
  parentPort.postMessage('begun');
  const until = Date.now() + 300;
  while (Date.now() < until);
  db.prepare('UPDATE leases SET taken_at = ?').run(Date.now());
  db.exec('COMMIT');
  db.close();`;

test('whoever had to wait for the file does not take a lease that was renewed meanwhile', async () => {
  const path = join(folder, 'waiting.db');
  const leases = new SqliteLeases(path);
  expect(await leases.acquire('lease', 'leader', LEASE_MS)).toBe(true);
  const worker = new Worker(renewal, { eval: true, workerData: path });
  await once(worker, 'message');
  expect(await leases.acquire('lease', 'standby', LEASE_MS)).toBe(false);
  await once(worker, 'exit');
  await leases.close();
});

test('a clock that is set back a little takes no lease from its owner; one set back far does not keep it for as long', async () => {
  const leases = new SqliteLeases(join(folder, 'clock.db'));
  const now = Date.now();
  const clock = vi.spyOn(Date, 'now');
  const at = (ms: number) => clock.mockReturnValue(now + ms);
  at(0);
  expect(await leases.acquire('lease', 'leader', LEASE_MS)).toBe(true);
  at(-50);
  expect(await leases.acquire('lease', 'standby', LEASE_MS)).toBe(false);
  at(-3_600_000);
  expect(await leases.acquire('lease', 'standby', LEASE_MS)).toBe(true);
  await leases.close();
});

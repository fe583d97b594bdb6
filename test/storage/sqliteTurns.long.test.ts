import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { beginImmediate } from '../../src/storage/engines/sqlite/database.ts';
import { temporaryFolder } from '../support/cli.ts';

/** Writes again and again, with short breaks, and counts its transactions. */
const other = `
const { DatabaseSync } = require('node:sqlite');
const { parentPort, workerData: { path, counted } } = require('node:worker_threads');
const db = new DatabaseSync(path, { timeout: 5_000 });
const cell = new Int32Array(new SharedArrayBuffer(4));
const sleep = (ms) => Atomics.wait(cell, 0, 0, ms);
for (;;) {
  db.exec('BEGIN IMMEDIATE; INSERT INTO rows DEFAULT VALUES');
  sleep(400);
  db.exec('COMMIT');
  Atomics.add(counted, 0, 1);
  if (Atomics.load(counted, 0) === 1) parentPort.postMessage('running');
  sleep(40);
}`;

test('whoever waits for a file has it in the first break of another that writes all the time', async () => {
  const path = join(temporaryFolder(), 'busy.db');
  const db = new DatabaseSync(path, { timeout: 5_000 });
  db.exec('PRAGMA journal_mode = WAL; CREATE TABLE rows (id INTEGER PRIMARY KEY)');
  const counted = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const worker = new Worker(other, { eval: true, workerData: { path, counted } });
  try {
    await new Promise((resolve) => worker.once('message', resolve));
    let waited = 0;
    for (let turn = 0; turn < 6; turn += 1) {
      // It has the file again.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60);
      const before = Atomics.load(counted, 0);
      beginImmediate(db);
      waited += Atomics.load(counted, 0) - before;
      db.exec('INSERT INTO rows DEFAULT VALUES; COMMIT');
    }
    // With SQLite's own pauses, of up to 100 ms, it is two or three times as many.
    expect(waited).toBeLessThan(10);
  } finally {
    await worker.terminate();
    db.close();
  }
});

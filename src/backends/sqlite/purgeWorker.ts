import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { openForCheckpoints, rewriteOnce } from './eventLogFile.ts';
import type { PurgeMessage } from './purgeFile.ts';

/** How long one try waits for others, who may be waiting for it meanwhile. */
const TRY_MS = 250;
const PAUSE_MS = 100;
const BOUND_MS = 5_000;
const SQLITE_BUSY = 5;

if (parentPort === null) throw new Error('purgeWorker runs as a worker thread');
const port = parentPort;
const { path } = workerData;

/** False when others hold the file. Throws SQLite's errors. */
function purgeOnce(db: DatabaseSync): boolean {
  try {
    rewriteOnce(db, path);
    return db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy === 0;
  } catch (error) {
    if (resultCode(error) === SQLITE_BUSY) return false;
    throw error;
  }
}

/** Returns SQLite's primary result code. */
function resultCode(error: unknown): number | undefined {
  const { errcode } = error as { errcode?: number };
  return errcode === undefined ? undefined : errcode & 0xff;
}

async function purge(): Promise<boolean> {
  const db = openForCheckpoints(path, TRY_MS);
  try {
    const until = performance.now() + BOUND_MS;
    while (!purgeOnce(db)) {
      if (performance.now() > until) return false;
      await sleep(PAUSE_MS);
    }
    return true;
  } finally {
    db.close();
  }
}

function send(message: PurgeMessage): void {
  port.postMessage(message);
}

try {
  send({ purged: await purge() });
} catch (error) {
  send({ errcode: resultCode(error) });
}

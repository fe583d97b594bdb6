import { parentPort, workerData } from 'node:worker_threads';
import { resultCode, TRY_MS, untilFree } from './database.ts';
import type { PurgeMessage } from './eventLog.ts';
import { openForCheckpoints, rewriteOnce } from './eventLogFile.ts';

if (parentPort === null) throw new Error('purgeWorker runs as a worker thread');
const port = parentPort;
const { path } = workerData;

async function purge(): Promise<void> {
  const db = openForCheckpoints(path, TRY_MS);
  try {
    await untilFree(() => {
      rewriteOnce(db, path);
      return true;
    });
    await untilFree(() => db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy === 0);
  } finally {
    db.close();
  }
}

function send(message: PurgeMessage): void {
  port.postMessage(message);
}

try {
  await purge();
  send({ purged: true });
} catch (error) {
  send({ errcode: resultCode(error) });
}

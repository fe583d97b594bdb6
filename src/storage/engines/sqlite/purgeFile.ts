import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { unavailable } from '../../../platform/errors.ts';
import { workerUrl } from '../../../platform/threads/workerUrl.ts';
import { fileProblem } from '../fileProblem.ts';

/** From the thread: that nothing which was removed is left in the file and beside it; or SQLite's result code. */
export type PurgeMessage = { purged: true } | { errcode: number | undefined };

/**
 * Empties the write-ahead log of an event log's file, which still contains what was removed; a file that was created without
 * `secure_delete` is first rewritten, once. A separate thread waits up to ten seconds for other users of the file. Rejects with
 * `unavailable`, whose `problem` says what is wrong with the file.
 */
export async function purgeFile(path: string): Promise<void> {
  const worker = new Worker(workerUrl('purgeWorker', import.meta.url), { workerData: { path } });
  const [message] = (await once(worker, 'message')) as [PurgeMessage];
  if ('purged' in message) return;
  const cause = Object.assign(new Error('purge failed'), message);
  throw unavailable('event log', cause, fileProblem(path, cause));
}

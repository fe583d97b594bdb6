import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { unavailable } from '../../errors.ts';
import { workerUrl } from '../../threads/workerUrl.ts';
import { fileProblem } from '../fileProblem.ts';

/** From the thread: whether nothing that was removed is left in the file and beside it; or SQLite's result code. */
export type PurgeMessage = { purged: boolean } | { errcode: number | undefined };

/**
 * Empties the write-ahead log of an event log's file, which still contains what was removed; a file that was created without
 * `secure_delete` is first rewritten, once. A separate thread waits a few seconds for other users of the file: false when that
 * was not enough. Rejects with `unavailable`, whose `problem` says what is wrong with the file.
 */
export async function purgeFile(path: string): Promise<boolean> {
  const worker = new Worker(workerUrl('purgeWorker', import.meta.url), { workerData: { path } });
  const [message] = (await once(worker, 'message')) as [PurgeMessage];
  if ('purged' in message) return message.purged;
  const cause = Object.assign(new Error('purge failed'), message);
  throw unavailable('event log', cause, fileProblem(path, cause));
}

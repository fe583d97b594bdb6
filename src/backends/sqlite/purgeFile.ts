import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { unavailable } from '../../errors.ts';
import { workerUrl } from '../../threads/workerUrl.ts';
import { fileProblem } from '../fileProblem.ts';

/** From its thread: whether nothing that was removed is left in the file and beside it; or SQLite's result code. */
export type PurgeMessage = { purged: boolean } | { errcode: number | undefined };

/**
 * Empties the write-ahead log of an event log's file, which still holds what was removed; before, a file that was made
 * without `secure_delete` is rewritten, once. A thread of its own waits for others who use the file, for some seconds: false
 * when that was not enough. Rejects with `unavailable`, whose `problem` tells what is the matter with the file.
 */
export async function purgeFile(path: string): Promise<boolean> {
  const worker = new Worker(workerUrl('purgeWorker', import.meta.url), { workerData: { path } });
  const [message] = (await once(worker, 'message')) as [PurgeMessage];
  if ('purged' in message) return message.purged;
  const cause = Object.assign(new Error('purge failed'), message);
  throw unavailable('event log', cause, fileProblem(path, cause));
}

import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { workerUrl } from '../../../platform/threads/workerUrl.ts';

/** From the process: that nothing which was removed is left in the file and beside it; or SQLite's result code. */
export type PurgeAnswer = { purged: true } | { errcode: number | undefined };

/**
 * Overwrites the free space within the pages of a file whose connections all use `secure_delete`, where SQLite leaves copies of rows
 * that it moves, and empties the write-ahead log. Others can read and write meanwhile: each hold-up is a fraction of a second.
 * Rejects with SQLite's error, which is that of a busy file when readers hold it for more than ten seconds, and at the signal.
 *
 * A process of its own, as closing the file beside SQLite releases all locks that the process has on it.
 */
export async function purgeFreeSpace(path: string, signal?: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<PurgeAnswer>();
  const child = fork(fileURLToPath(workerUrl('purgeProcess', import.meta.url)), [path], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    ...(signal && { signal }),
  });
  child.once('message', (answer) => resolve(answer as PurgeAnswer));
  child.once('error', reject);
  child.once('exit', () => resolve({ errcode: undefined }));
  const answer = await promise;
  if ('purged' in answer) return;
  throw Object.assign(new Error('purge failed'), { code: 'ERR_SQLITE_ERROR', ...answer });
}

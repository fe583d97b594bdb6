import { type Transferable, Worker } from 'node:worker_threads';
import { measurements } from '../metrics/Measurements.ts';

const RESTART_MS = 1_000;

/** Receives what happens in a thread that is kept. */
export interface ThreadListener<Message> {
  /** `answer` sends it a message, and what is transferred with it. */
  onMessage(message: Message, answer: (message: unknown, transfer?: Transferable[]) => void): void;
  /** It failed; another one is started. */
  onError(error: Error): void;
}

/**
 * Starts a worker thread, and another one whenever it ends. The returned function stops it, by the message `stop`, and resolves
 * once it is gone, also when it failed.
 */
export function keepThread<Message>(
  url: URL,
  workerData: unknown,
  { onMessage, onError }: ThreadListener<Message>,
): () => Promise<void> {
  let worker: Worker;
  let stopping = false;
  let restart: NodeJS.Timeout | undefined;

  const start = () => {
    const started = new Worker(url, { workerData });
    const { threadId } = started;
    worker = started;
    worker.on('message', (message) =>
      onMessage(message, (reply, transfer) => started.postMessage(reply, transfer)),
    );
    worker.on('error', onError);
    worker.on('exit', () => {
      measurements.forget(threadId);
      if (!stopping) restart = setTimeout(start, RESTART_MS);
    });
  };
  start();

  return async () => {
    stopping = true;
    clearTimeout(restart);
    if (worker.threadId === -1) return;
    // `once` of node:events would reject with the error of a thread that fails as it ends.
    const exited = new Promise((resolve) => worker.once('exit', resolve));
    worker.postMessage('stop');
    await exited;
  };
}

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

const RESTART_MS = 1_000;

/** What is told of a thread that is kept. */
export interface ThreadListener<Message> {
  onMessage(message: Message): void;
  /** It failed; another one is started. */
  onError(error: Error): void;
}

/** Starts a worker thread, and another one whenever it ends. The result has it stop, by the message `stop`. */
export function keepThread<Message>(
  url: URL,
  workerData: unknown,
  { onMessage, onError }: ThreadListener<Message>,
): () => Promise<void> {
  let worker: Worker;
  let stopping = false;
  let restart: NodeJS.Timeout | undefined;

  const start = () => {
    worker = new Worker(url, { workerData });
    worker.on('message', onMessage);
    worker.on('error', onError);
    worker.on('exit', () => {
      if (!stopping) restart = setTimeout(start, RESTART_MS);
    });
  };
  start();

  return async () => {
    stopping = true;
    clearTimeout(restart);
    if (worker.threadId === -1) return;
    const exited = once(worker, 'exit');
    worker.postMessage('stop');
    await exited;
  };
}

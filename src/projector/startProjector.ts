import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { describeError } from '../errors.ts';
import { workerUrl } from '../workerUrl.ts';
import type { ProjectorMessage } from './messages.ts';

const RESTART_MS = 1_000;

/** Starts the projector in a thread of its own, so that folding never delays a request. The result stops it. */
export function startProjector(config: Config, logger: Logger): () => Promise<void> {
  let worker: Worker;
  let stopping = false;
  let restart: NodeJS.Timeout | undefined;

  const start = () => {
    worker = new Worker(workerUrl('projectorWorker', import.meta.url), { workerData: { config } });
    worker.on('message', (message: ProjectorMessage) => {
      const { kind, ...fields } = message;
      if (kind === 'parked') logger.error(fields, 'a projection could not take an event; it was parked');
      else logger.warn(fields, 'the projector tries again');
    });
    worker.on('error', (error) => logger.error({ error: describeError(error) }, 'the projector failed'));
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

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { describeError } from '../errors.ts';
import { workerUrl } from '../workerUrl.ts';
import type { WebhooksMessage } from './messages.ts';
import type { RetrySchedule } from './schedule.ts';

const RESTART_MS = 1_000;

/** Starts the delivery of webhooks in a thread of its own, so that it never delays a request. The result stops it. */
export function startWebhooks(config: Config, logger: Logger, schedule?: RetrySchedule): () => Promise<void> {
  let worker: Worker;
  let stopping = false;
  let restart: NodeJS.Timeout | undefined;

  const start = () => {
    worker = new Worker(workerUrl('webhooksWorker', import.meta.url), { workerData: { config, schedule } });
    worker.on('message', (message: WebhooksMessage) => {
      const { kind, ...fields } = message;
      if (kind === 'unreadable')
        logger.error(fields, 'an event that cannot be read is not sent to a webhook');
      else logger.warn(fields, 'the delivery of webhooks tries again');
    });
    worker.on('error', (error) =>
      logger.error({ error: describeError(error) }, 'the delivery of webhooks failed'),
    );
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

import type { Logger } from 'pino';
import type { RetrySchedule } from '../modules/webhooks/attempts.ts';
import type { WebhooksMessage } from '../modules/webhooks/dispatcher.ts';
import type { WebhookDirectory } from '../modules/webhooks/webhook.ts';
import type { Config } from '../platform/config.ts';
import { describeError } from '../platform/errors.ts';
import { superviseWorker } from '../platform/threads/workers.ts';
import { workerUrl } from '../platform/threads/workerUrl.ts';

const POLL_MS = 250;

/** A failed thread is restarted after a second: without a failure for this long, it is making progress. */
const FAILING_MS = 5_000;

interface WebhooksThread {
  /** Whether it is not making progress. */
  failing(): boolean;
  stop(): Promise<void>;
}

/**
 * Starts the delivery of webhooks in its own thread, so that it never delays a request; not before there is a webhook, so that
 * installations without any do not pay for the thread.
 */
export function startWebhooks(
  config: Config,
  logger: Logger,
  directory: WebhookDirectory,
  schedule?: RetrySchedule,
): WebhooksThread {
  let failedAt = Number.NEGATIVE_INFINITY;
  const onFailure = () => {
    failedAt = performance.now();
  };
  let stopThread: (() => Promise<void>) | undefined;
  const startIfNeeded = () => {
    if (directory.all().length === 0) return;
    clearInterval(timer);
    stopThread = startThread(config, logger, onFailure, schedule);
  };
  const timer = setInterval(startIfNeeded, POLL_MS);
  startIfNeeded();
  return {
    failing: () => performance.now() - failedAt < FAILING_MS,
    async stop() {
      clearInterval(timer);
      await stopThread?.();
    },
  };
}

function startThread(
  config: Config,
  logger: Logger,
  onFailure: () => void,
  schedule?: RetrySchedule,
): () => Promise<void> {
  return superviseWorker<WebhooksMessage>(
    workerUrl('webhooksWorker', import.meta.url),
    { config, schedule },
    {
      onMessage({ kind, ...fields }) {
        if (kind === 'unreadable')
          logger.error(fields, 'an event that cannot be read is not sent to a webhook');
        else if (kind === 'state_lost')
          logger.warn(
            fields,
            'the state of a webhook was lost, or is not of this log: it goes on from what the log says',
          );
        else logger.warn(fields, 'webhook delivery is retrying');
      },
      onError(error) {
        onFailure();
        logger.error({ error: describeError(error) }, 'webhook delivery failed');
      },
    },
  );
}

import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { describeError } from '../errors.ts';
import { keepThread } from '../threads/keepThread.ts';
import { workerUrl } from '../threads/workerUrl.ts';
import type { RetrySchedule } from '../webhooks/delivery/schedule.ts';
import type { WebhooksMessage } from '../webhooks/delivery/WebhooksMessage.ts';
import type { WebhookDirectory } from '../webhooks/settings/WebhookDirectory.ts';

const LOOK_MS = 250;

/**
 * Starts the delivery of webhooks in a thread of its own, so that it never delays a request; and not before there is a
 * webhook, so that who has none does not pay for the thread. The result stops it.
 */
export function startWebhooks(
  config: Config,
  logger: Logger,
  directory: WebhookDirectory,
  schedule?: RetrySchedule,
): () => Promise<void> {
  let stopThread: (() => Promise<void>) | undefined;
  const startIfNeeded = () => {
    if (directory.all().length === 0) return;
    clearInterval(timer);
    stopThread = startThread(config, logger, schedule);
  };
  const timer = setInterval(startIfNeeded, LOOK_MS);
  startIfNeeded();
  return async () => {
    clearInterval(timer);
    await stopThread?.();
  };
}

function startThread(config: Config, logger: Logger, schedule?: RetrySchedule): () => Promise<void> {
  return keepThread<WebhooksMessage>(
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
        else logger.warn(fields, 'the delivery of webhooks tries again');
      },
      onError: (error) => logger.error({ error: describeError(error) }, 'the delivery of webhooks failed'),
    },
  );
}

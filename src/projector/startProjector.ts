import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { describeError } from '../errors.ts';
import { keepThread } from '../keepThread.ts';
import type { LogMismatch } from '../sameLog/logMismatch.ts';
import { workerUrl } from '../workerUrl.ts';
import type { ProjectorMessage } from './messages.ts';

const mismatchTexts: Record<LogMismatch, string> = {
  another_log: 'a read model was built from another event log; it is built anew from this one',
  beyond_the_log:
    'a read model holds events that the event log no longer has, as after a restore; it is built anew',
  unknown_log: 'a read model does not say from which event log it was built; it is built anew',
};

/** It tries again at short intervals: who did not fail for so long gets on. */
const FAILING_MS = 5_000;

export interface ProjectorThread {
  /** Whether it does not get on, by its own word. */
  failing(): boolean;
  stop(): Promise<void>;
}

/** Starts the projector in a thread of its own, so that folding never delays a request. */
export function startProjector(config: Config, logger: Logger): ProjectorThread {
  let failedAt = Number.NEGATIVE_INFINITY;
  const stop = keepThread<ProjectorMessage>(
    workerUrl('projectorWorker', import.meta.url),
    { config },
    {
      onMessage(message) {
        const { kind, ...fields } = message;
        if (kind === 'parked') logger.error(fields, 'a projection could not take events; they were parked');
        else if (kind === 'mismatch') logger.error(fields, mismatchTexts[message.mismatch]);
        else {
          failedAt = performance.now();
          logger.warn(fields, 'the projector tries again');
        }
      },
      onError(error) {
        failedAt = performance.now();
        logger.error({ error: describeError(error) }, 'the projector failed');
      },
    },
  );
  return { failing: () => performance.now() - failedAt < FAILING_MS, stop };
}

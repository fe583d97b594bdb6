import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { describeError } from '../errors.ts';
import { keepThread } from '../keepThread.ts';
import { workerUrl } from '../workerUrl.ts';
import type { ProjectorMessage } from './messages.ts';

/** Starts the projector in a thread of its own, so that folding never delays a request. The result stops it. */
export function startProjector(config: Config, logger: Logger): () => Promise<void> {
  return keepThread<ProjectorMessage>(
    workerUrl('projectorWorker', import.meta.url),
    { config },
    {
      onMessage({ kind, ...fields }) {
        if (kind === 'parked') logger.error(fields, 'a projection could not take an event; it was parked');
        else logger.warn(fields, 'the projector tries again');
      },
      onError: (error) => logger.error({ error: describeError(error) }, 'the projector failed'),
    },
  );
}

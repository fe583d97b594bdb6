import type { Logger } from 'pino';
import { mismatchTexts } from '../modules/projections/checkpoints.ts';
import type { ProjectorMessage } from '../modules/projections/projector.ts';
import type { Config } from '../platform/config.ts';
import { describeError } from '../platform/errors.ts';
import type { SharedFlag } from '../platform/threads/semaphore.ts';
import { superviseWorker } from '../platform/threads/workers.ts';
import { workerUrl } from '../platform/threads/workerUrl.ts';

/** It retries at short intervals: without a failure for this long, it is making progress. */
const FAILING_MS = 5_000;

interface ProjectorThread {
  /** Whether it reports that it is not making progress. */
  failing(): boolean;
  stop(): Promise<void>;
}

/**
 * Starts the projector in its own thread, so that folding never delays a request. `awaited` is raised by anything in this process
 * that waits for read models.
 */
export function startProjector(config: Config, logger: Logger, awaited: SharedFlag): ProjectorThread {
  let failedAt = Number.NEGATIVE_INFINITY;
  /** The current failures already reported, and when it last failed at anything. */
  let told = new Set<unknown>();
  let retriedAt = failedAt;
  const isRecent = (at: number) => performance.now() - at < FAILING_MS;
  const retrying = ({ task, error }: ProjectorMessage & { kind: 'retrying' }) => {
    if (!isRecent(retriedAt)) told = new Set();
    retriedAt = performance.now();
    if (task === 'project') failedAt = retriedAt;
    const { problem } = error;
    if (problem === undefined || told.has(problem)) logger.warn({ task, error }, 'the projector is retrying');
    else logger.error({ task, problem, error }, 'the projector is not making progress');
    told.add(problem);
  };
  const stop = superviseWorker<ProjectorMessage>(
    workerUrl('projectorWorker', import.meta.url),
    { config, awaited: awaited.buffer },
    {
      onMessage(message) {
        const { kind, ...fields } = message;
        if (kind === 'parked') logger.error(fields, 'a projection could not take events; they were parked');
        else if (kind === 'mismatch') logger.error(fields, mismatchTexts[message.mismatch]);
        else retrying(message);
      },
      onError(error) {
        failedAt = performance.now();
        logger.error({ error: describeError(error) }, 'the projector failed');
      },
    },
  );
  return { failing: () => isRecent(failedAt), stop };
}

import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { describeError } from '../errors.ts';
import type { ProjectorMessage } from '../projector/ProjectorMessage.ts';
import { mismatchTexts } from '../sameLog/logMismatch.ts';
import { keepThread } from '../threads/keepThread.ts';
import type { SharedFlag } from '../threads/SharedFlag.ts';
import { workerUrl } from '../threads/workerUrl.ts';

/** It tries again at short intervals: who did not fail for so long gets on. */
const FAILING_MS = 5_000;

export interface ProjectorThread {
  /** Whether it does not get on, by its own word. */
  failing(): boolean;
  stop(): Promise<void>;
}

/**
 * Starts the projector in a thread of its own, so that folding never delays a request. `awaited` is raised by what of this
 * process waits for read models.
 */
export function startProjector(config: Config, logger: Logger, awaited: SharedFlag): ProjectorThread {
  let failedAt = Number.NEGATIVE_INFINITY;
  /** What was told of the present failures, and when it last failed at anything. */
  let told = new Set<unknown>();
  let retriedAt = failedAt;
  const isRecent = (at: number) => performance.now() - at < FAILING_MS;
  const retrying = ({ task, error }: ProjectorMessage & { kind: 'retrying' }) => {
    if (!isRecent(retriedAt)) told = new Set();
    retriedAt = performance.now();
    if (task === 'project') failedAt = retriedAt;
    const { problem } = error;
    if (problem === undefined || told.has(problem)) logger.warn({ task, error }, 'the projector tries again');
    else logger.error({ task, problem, error }, 'the projector does not get on');
    told.add(problem);
  };
  const stop = keepThread<ProjectorMessage>(
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

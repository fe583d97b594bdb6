import { Worker } from 'node:worker_threads';
import { describeError, ServiceError } from '../platform/errors.ts';

/** What a task's thread reports when it fails. */
interface TaskFailure {
  kind: 'failed';
  /** Set for a `ServiceError`; undefined for any other error. */
  known: Pick<ServiceError, 'code' | 'message' | 'problem'> | undefined;
  /** Its stack frames: what operators may see. */
  frames: readonly string[];
}

/** Returns what is reported of an error. */
export function taskFailure(error: unknown): TaskFailure {
  const { stack } = describeError(error);
  const frames = Array.isArray(stack) ? stack : [];
  if (!(error instanceof ServiceError)) return { kind: 'failed', known: undefined, frames };
  const { code, message, problem } = error;
  return { kind: 'failed', known: { code, message, problem }, frames };
}

/** Recreates the error from what was reported. */
function errorOfTask({ known, frames }: TaskFailure): Error {
  const error = known
    ? new ServiceError(known.code, known.message, { problem: known.problem })
    : new Error('the thread of a task failed');
  return Object.assign(error, { stack: [error.message, ...frames].join('\n    ') });
}

/** A thread that needs more memory ends, and the service continues. */
const MOST_MEMORY_MB = 512;

/** Receives the events of a task: each message of its thread, and the reason when it cannot continue. */
interface TaskEnds<Message> {
  onMessage(message: Message): void;
  onFailure(error: Error): void;
}

/** Starts a thread for one task, which reports by messages, the last of which is a `TaskFailure` if it fails. */
export function startTask<Message extends { kind: string }>(
  url: URL,
  workerData: unknown,
  { onMessage, onFailure }: TaskEnds<Message>,
): Worker {
  const worker = new Worker(url, {
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: MOST_MEMORY_MB },
  });
  worker.on('message', (message: Message | TaskFailure) => {
    if (isFailure(message)) onFailure(errorOfTask(message));
    else onMessage(message);
  });
  worker.on('error', onFailure);
  worker.on('exit', () => onFailure(new Error('the thread ended')));
  return worker;
}

/** Runs a task to its end, which is the message for which `resultOf` returns something; the signal ends it earlier. */
export async function runTask<Message extends { kind: string }, Result>(
  url: URL,
  workerData: unknown,
  signal: AbortSignal,
  resultOf: (message: Message) => Result | undefined,
): Promise<Result> {
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  const worker = startTask<Message>(url, workerData, {
    onMessage(message) {
      const result = resultOf(message);
      if (result !== undefined) resolve(result);
    },
    onFailure: reject,
  });
  const stop = () => reject(signal.reason);
  signal.addEventListener('abort', stop);
  try {
    signal.throwIfAborted();
    return await promise;
  } finally {
    signal.removeEventListener('abort', stop);
    await worker.terminate();
  }
}

function isFailure(message: { kind: string }): message is TaskFailure {
  return message.kind === 'failed';
}

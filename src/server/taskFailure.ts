import { describeError, ServiceError } from '../platform/errors.ts';

/** What a task's thread reports when it fails. */
export interface TaskFailure {
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
export function errorOfTask({ known, frames }: TaskFailure): Error {
  const error = known
    ? new ServiceError(known.code, known.message, { problem: known.problem })
    : new Error('the thread of a task failed');
  return Object.assign(error, { stack: [error.message, ...frames].join('\n    ') });
}

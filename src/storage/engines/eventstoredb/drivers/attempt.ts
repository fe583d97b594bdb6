import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError, unavailable } from '../../../../platform/errors.ts';
import { credentialsProblem } from './credentialsProblem.ts';
import { isDriverError } from './isDriverError.ts';

/** How long one call to the server may take. A frozen server would hold it for about 17 seconds, whatever deadline the driver is given. */
export const TIMEOUT_MS = 2_500;
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 250;

/** Whether anyone is still waiting for a call: an `AbortSignal` in its simplest form, as every append uses one. */
export interface Waiting {
  aborted: boolean;
  /** Called when nobody is. */
  cancel: () => void;
}

/**
 * Calls the server, retrying while it refuses or does not answer, and rejects with `unavailable` when that has not succeeded within
 * `patienceMs`. A `ServiceError` is an answer and ends the tries, as does a refusal that repeats do not change: `internal`.
 */
export async function attempt<Result>(
  { patienceMs }: { readonly patienceMs: number },
  call: (waiting: Waiting) => Promise<Result>,
): Promise<Result> {
  const deadline = performance.now() + patienceMs;
  let cause: unknown = new Error('no answer');
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    try {
      return await within(Math.min(TIMEOUT_MS, Math.max(0, deadline - performance.now())), call);
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      const refusal = lastingRefusal(error);
      if (refusal) throw refusal;
      if (error !== expired) cause = error;
      const problem = credentialsProblem(cause);
      if (problem !== undefined || performance.now() + pause >= deadline)
        throw unavailable('event log', cause, problem);
    }
    await sleep(pause);
  }
}

/** Errors with which a server answers the same call in the same way whenever it is made. */
const lasting = ['invalid-argument', 'stream-deleted', 'unsupported'] as const;

/** Returns the error for a failure that repeats do not change; undefined for any other. */
export function lastingRefusal(error: unknown): ServiceError | undefined {
  if (error instanceof ServiceError) return error.code === 'unavailable' ? undefined : error;
  return lasting.some((type) => isDriverError(error, type)) ? unusable(error) : undefined;
}

/** The error for a server that answers in a way that will not pass; its `problem` is for operators. */
export function unusable(cause: unknown, problem?: string): ServiceError {
  const { type } = (cause ?? {}) as { type?: string };
  return new ServiceError('internal', 'The event log refuses the request for a reason that will not pass.', {
    cause,
    problem: problem ?? `The server of the event log answers ${type}, which repeats do not change.`,
  });
}

const expired = Symbol('expired');

function within<Result>(ms: number, call: (waiting: Waiting) => Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const waiting: Waiting = { aborted: false, cancel: () => undefined };
    const timer = setTimeout(() => {
      waiting.aborted = true;
      waiting.cancel();
      reject(expired);
    }, ms);
    call(waiting)
      .finally(() => clearTimeout(timer))
      .then(resolve, reject);
  });
}

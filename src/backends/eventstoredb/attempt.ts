import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError, unavailable } from '../../errors.ts';
import { credentialsProblem } from './credentialsProblem.ts';

/** A frozen server would hold a call for about 17 seconds, whatever deadline the driver is given. */
export const TIMEOUT_MS = 2_500;
const FIRST_PAUSE_MS = 20;

/**
 * Calls the server, again while it refuses, and rejects with `unavailable` when that has not worked out in 2.5
 * seconds. `signal` tells a call that nobody waits for it any more. A `ServiceError` is an answer and ends the tries.
 */
export async function attempt<Result>(call: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const deadline = performance.now() + TIMEOUT_MS;
  let cause: unknown = new Error('no answer');
  for (let pause = FIRST_PAUSE_MS; ; pause *= 2) {
    try {
      return await within(Math.max(0, deadline - performance.now()), call);
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      if (error !== expired) cause = error;
      if (performance.now() + pause >= deadline)
        throw unavailable('event log', cause, credentialsProblem(cause));
    }
    await sleep(pause);
  }
}

const expired = Symbol('expired');

async function within<Result>(ms: number, call: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const abort = new AbortController();
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    abort.abort();
    reject(expired);
  }, ms);
  try {
    return await Promise.race([call(abort.signal), late]);
  } finally {
    clearTimeout(timer);
  }
}

const FIRST_PAUSE_SECONDS = 0.25;
const LONGEST_PAUSE_SECONDS = 30;

/** Seconds to wait before try number `tries` + 1: twice as long each time, and spread, so that callers come apart. */
export function backoffSeconds(tries: number): number {
  const seconds = Math.min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** (tries - 1));
  return seconds * (0.5 + Math.random() / 2);
}

/** What a promise resolves to; rejects with the signal's reason as soon as it is aborted. */
export function orAborted<Result>(
  promise: Promise<Result>,
  signal: AbortSignal | undefined,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal?.reason);
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal?.removeEventListener('abort', abort));
  });
}

/** Resolves after so many seconds; rejects with the signal's reason when it is aborted. */
export function pause(seconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, seconds * 1_000);
    signal?.addEventListener('abort', abort, { once: true });
  });
}

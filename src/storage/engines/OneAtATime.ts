import { within } from './within.ts';

/**
 * File operations that may hang, one at a time. Nothing cancels an operation on a disk that does not answer, and a process has four
 * places for such operations: if all were taken, log output, name look-ups, passwords and documents would hang, too.
 */
export class OneAtATime {
  #last: Promise<unknown> = Promise.resolve();

  /**
   * Returns the result of `work`, which begins when those before it have ended; rejects when all that takes longer than `ms`. If
   * it has not begun by then, it never does.
   */
  async within<Result>(ms: number, work: () => Promise<Result>): Promise<Result> {
    let isLate = false;
    const working = this.#last.then(() => (isLate ? Promise.reject(new Error('too late')) : work()));
    this.#last = working.catch(() => undefined);
    try {
      return await within(ms, working);
    } finally {
      isLate = true;
    }
  }
}

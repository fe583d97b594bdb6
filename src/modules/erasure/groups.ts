import { setImmediate as nextTurn } from 'node:timers/promises';
import { asUnreadable, UnreadableError, unavailable } from '../../platform/errors.ts';

/** Streams that are worked on side by side: their appends share commits, and requests are served between groups. */
const AT_ONCE = 16;

/** Works on many streams in small groups, and remembers that some cannot be read. */
export class Groups {
  readonly signal: AbortSignal | undefined;
  #unread: UnreadableError | undefined;

  /** At the signal, the rest of the groups is left to whoever goes on with it. */
  constructor(signal?: AbortSignal) {
    this.signal = signal;
  }

  /** The problem with the last of those that cannot be read. */
  get unread(): UnreadableError | undefined {
    return this.#unread;
  }

  /** Throws an `UnreadableError` if some could not be read. */
  throwUnread(): void {
    if (this.#unread) throw this.#unread;
  }

  /**
   * Calls `work` for each, and returns all results in order, without those of streams that cannot be read. Rejects with the first
   * other error once its group has ended, and with `unavailable` at the signal.
   */
  async each<One, Result>(
    ones: readonly One[],
    work: (one: One) => Promise<readonly Result[]>,
  ): Promise<Result[]> {
    const results: Result[] = [];
    for (let from = 0; from < ones.length; from += AT_ONCE) {
      if (this.signal?.aborted) throw unavailable('erasure');
      const group = ones.slice(from, from + AT_ONCE).map((one) => work(one).catch(asUnreadable));
      for (const ended of await Promise.allSettled(group)) {
        if (ended.status === 'rejected') throw ended.reason;
        if (ended.value instanceof UnreadableError) this.#unread = ended.value;
        else results.push(...ended.value);
      }
      await nextTurn();
    }
    return results;
  }
}

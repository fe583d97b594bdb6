import type { FollowOptions } from '../../ports/eventLog.ts';

/** How often it is looked whether there is anything. */
const POLL_MS = 20;

/**
 * How a follower that has caught up waits for events: reading many at once costs little more than reading one. Where they keep
 * coming, each wait is twice as long as the one before, up to what the follower allows.
 */
export class Gathering {
  readonly #mostMs: number;
  readonly #isAwaited: () => boolean;
  #ms = POLL_MS;

  constructor(allowed: FollowOptions['gather']) {
    this.#mostMs = allowed?.ms ?? POLL_MS;
    this.#isAwaited = allowed?.isAwaited ?? (() => true);
  }

  /** Resolves when there is something, as `isThere` says, and it need not wait for more. `pause` resolves after so many ms. */
  async wait(isThere: () => boolean, pause: (ms: number) => Promise<unknown>): Promise<void> {
    const begun = performance.now();
    let cameAfter: number | undefined;
    for (;;) {
      await pause(POLL_MS);
      // By the clock: where processors are busy, a pause takes longer than it was asked for.
      const waited = performance.now() - begun;
      if (cameAfter === undefined && isThere()) cameAfter = waited;
      if (cameAfter !== undefined && (waited >= this.#ms || this.#isAwaited())) break;
    }
    this.#ms = cameAfter <= this.#ms ? Math.min(2 * this.#ms, this.#mostMs) : POLL_MS;
  }
}

import type { FollowOptions } from '../../ports/eventLog.ts';

/** How often to check whether there are events. */
const POLL_MS = 20;

/**
 * How a follower that has caught up waits for events: reading many at once costs little more than reading one. While they keep
 * coming, each wait is twice as long as the previous one, up to what the follower allows.
 */
export class Gathering {
  readonly #mostMs: number;
  readonly #isAwaited: () => boolean;
  #ms = POLL_MS;

  constructor(allowed: FollowOptions['gather']) {
    this.#mostMs = allowed?.ms ?? POLL_MS;
    this.#isAwaited = allowed?.isAwaited ?? (() => true);
  }

  /**
   * Resolves when there are events, according to `isThere`, and there is no need to wait for more. `pause` resolves after the
   * given ms.
   */
  async wait(isThere: () => boolean, pause: (ms: number) => Promise<unknown>): Promise<void> {
    const begun = performance.now();
    let cameAfter: number | undefined;
    for (;;) {
      await pause(POLL_MS);
      // By the clock: when processors are busy, a pause takes longer than requested.
      const waited = performance.now() - begun;
      if (cameAfter === undefined && isThere()) cameAfter = waited;
      if (cameAfter !== undefined && (waited >= this.#ms || this.#isAwaited())) break;
    }
    this.#ms = cameAfter <= this.#ms ? Math.min(2 * this.#ms, this.#mostMs) : POLL_MS;
  }
}

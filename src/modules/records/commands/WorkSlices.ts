import { setImmediate as nextTurn } from 'node:timers/promises';

/** How long a batch occupies the thread that serves requests before yielding. */
const SLICE_MS = 2;

/** Divides long work into slices, yielding to other requests in between. */
export class WorkSlices {
  #until = performance.now() + SLICE_MS;

  /** Whether the current slice is over: await `next` then. */
  get isOver(): boolean {
    return performance.now() >= this.#until;
  }

  /** Resolves after other requests had their turn. */
  async next(): Promise<void> {
    await nextTurn();
    this.#until = performance.now() + SLICE_MS;
  }
}

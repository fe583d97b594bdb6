import { setImmediate as nextTurn } from 'node:timers/promises';

/** For so long a batch holds the thread that serves requests. */
const SLICE_MS = 4;

/** Cuts long work into slices, between which others are served. */
export class WorkSlices {
  #until = performance.now() + SLICE_MS;

  /** Whether the present slice is over: then `next` is awaited. */
  get isOver(): boolean {
    return performance.now() >= this.#until;
  }

  /** Resolves when others were served. */
  async next(): Promise<void> {
    await nextTurn();
    this.#until = performance.now() + SLICE_MS;
  }
}

import type { Clock } from '../../storage/clock.ts';
import type { StateRow, StateStore, StateTable } from '../../storage/stateStore.ts';

/** How long a row stays held by a process that shows no more signs of life. */
export const HOLD_MS = 10_000;

/**
 * By how much the clocks of instances may differ, in milliseconds: a hold that ends later than that was made before the clock was
 * set back.
 */
const CLOCKS_APART_MS = 60_000;

/** What a body says about the holder of its row. */
export interface Held {
  /** Until when it is held, unless extended. In milliseconds since 1970; 0: not held. */
  heldUntil: number;
}

/** Whether a row is held at a time, in milliseconds since 1970. */
export function isHeld({ heldUntil }: Held, now: number): boolean {
  return heldUntil > now && heldUntil <= now + HOLD_MS + CLOCKS_APART_MS;
}

/**
 * A row of the state store that this process holds until `end`. If the process ends before, the hold expires some seconds later.
 * Others replace the row by a compare-and-set, after which it is no longer held.
 */
export class HeldRow<Body extends Held> {
  readonly #stateStore: StateStore;
  readonly #table: StateTable<Body>;
  #row: StateRow<Body>;
  #writing: Promise<unknown> = Promise.resolve();
  readonly #renewal: NodeJS.Timeout;

  /** `row` is already in the store. */
  constructor(
    { stateStore, clock }: { stateStore: StateStore; clock: Clock },
    table: StateTable<Body>,
    row: StateRow<Body>,
  ) {
    this.#stateStore = stateStore;
    this.#table = table;
    this.#row = row;
    const renew = () =>
      this.write((body) => ({ ...body, heldUntil: clock.now() + HOLD_MS })).catch(() => undefined);
    this.#renewal = setInterval(renew, HOLD_MS / 3).unref();
  }

  get row(): StateRow<Body> {
    return this.#row;
  }

  /** Changes the row, one change after the other; false when another process took it over. Rejects with `unavailable`. */
  write(change: (body: Body) => Body): Promise<boolean> {
    const write = this.#writing.then(async () => {
      const { revision, body } = this.#row;
      const row = { ...this.#row, revision: revision + 1, body: change(body) };
      const isOurs = await this.#stateStore.swap(this.#table, row, revision);
      if (isOurs) this.#row = row;
      return isOurs;
    });
    this.#writing = write.catch(() => undefined);
    return write;
  }

  /** Stops renewing the hold, and does one last thing. Never rejects. */
  async end(last?: () => Promise<unknown>): Promise<void> {
    clearInterval(this.#renewal);
    await this.#writing;
    await last?.().catch(() => undefined);
  }
}

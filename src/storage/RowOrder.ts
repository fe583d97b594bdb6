const LAST_ORDER = Number.MAX_SAFE_INTEGER;
/** How many rows of one millisecond are kept apart. */
const A_MILLISECOND = 1_000;

/** Computes the `order` of rows in state store partitions that are sorted by time. */
export class RowOrder {
  /** Starts at a different value in each process. */
  #count = Math.floor(Math.random() * A_MILLISECOND);

  /** Rows later than this moment (milliseconds since 1970) sort before the returned order. */
  static newestBefore(ms: number): number {
    return LAST_ORDER - ms * A_MILLISECOND;
  }

  /** Returns an order before those of earlier moments. */
  newestFirst(ms: number): number {
    return LAST_ORDER - this.oldestFirst(ms);
  }

  /** Returns an order after those of earlier moments. */
  oldestFirst(ms: number): number {
    this.#count = (this.#count + 1) % A_MILLISECOND;
    return ms * A_MILLISECOND + this.#count;
  }
}

const LAST_ORDER = Number.MAX_SAFE_INTEGER;
/** Rows of one millisecond that are kept apart. */
const A_MILLISECOND = 1_000;

/** Places of rows in partitions of the state store that go by time. */
export class RowOrder {
  /** Not the same in each process. */
  #count = Math.floor(Math.random() * A_MILLISECOND);

  /** Before it are the places of later moments than this one, in milliseconds since 1970. */
  static newestBefore(ms: number): number {
    return LAST_ORDER - ms * A_MILLISECOND;
  }

  /** A place before those of earlier moments. */
  newestFirst(ms: number): number {
    return LAST_ORDER - this.oldestFirst(ms);
  }

  /** A place behind those of earlier moments. */
  oldestFirst(ms: number): number {
    this.#count = (this.#count + 1) % A_MILLISECOND;
    return ms * A_MILLISECOND + this.#count;
  }
}

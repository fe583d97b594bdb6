/** A file kept by a target of heads. */
export interface KeptHead {
  name: string;
  text: string;
}

/** A place outside the service that receives signed heads and erasure notices. */
export interface HeadTarget {
  /** Where it is, for display; contains no secrets. */
  readonly place: string;

  /**
   * Durably stores a new file; `name` consists of letters, digits and `-._`, and is never reused. Existing files are never
   * overwritten. Rejects with `unavailable` when the place does not accept it within ten seconds; its `problem` tells operators
   * why.
   */
  keep(name: string, text: string): Promise<void>;

  /**
   * Yields what was stored under names that start with `prefix`, ordered by name. Absent where a place is write-only. Rejects as
   * `keep` does, and when reading is not permitted.
   */
  kept?(prefix: string): AsyncIterable<KeptHead>;
}

/** A file that a target of heads kept. */
export interface KeptHead {
  name: string;
  text: string;
}

/** A place outside the service that takes signed heads, and notices of erasures. */
export interface HeadTarget {
  /** Where it is, for people: nothing in it is secret. */
  readonly place: string;

  /**
   * Keeps a new file, durably; `name` is of letters, digits and `-._`, and never used twice. What is there is never
   * overwritten. Rejects with `unavailable`, whose `problem` tells operators what is the matter, when the place does not take
   * it within ten seconds.
   */
  keep(name: string, text: string): Promise<void>;

  /**
   * What was kept under names that begin with `prefix`, in the order of the names. There is no such method where a place
   * only takes. Rejects as `keep` does, also where the place may not be read.
   */
  kept?(prefix: string): AsyncIterable<KeptHead>;
}

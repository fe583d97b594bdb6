/** A place outside the service that takes signed heads. */
export interface HeadTarget {
  /**
   * Keeps a new file, durably; `name` is of letters, digits and `-._`, and never used twice. What is there is never
   * overwritten. Rejects with `unavailable`, whose `problem` tells operators what is the matter, when the place does not take
   * it within ten seconds.
   */
  keep(name: string, text: string): Promise<void>;
}

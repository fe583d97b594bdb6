/** What was refused of a batch. */
export interface RefusedLines {
  /** How many lines the batch had. */
  sent: number;
  /** How many of them were refused, by code. */
  refused: Record<string, number>;
  /**
   * How many had an error in this field, by its name, as in the `fields` of an `AccessRecorded`; only the 20 most frequent
   * fields.
   */
  fields?: Record<string, number>;
}

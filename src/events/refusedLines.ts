/** What of a batch was refused. */
export interface RefusedLines {
  /** How many lines the batch had. */
  sent: number;
  /** How many of them were refused, by code. */
  refused: Record<string, number>;
  /** How many had this field at fault, by its name, as `fields` of an `AccessRecorded` has it: of the 20 most frequent ones. */
  fields?: Record<string, number>;
}

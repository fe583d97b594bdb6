/** Records that lines of a batch write, added once such a line is accepted: later lines need not check whether they exist. */
export class ForeseenRecords {
  readonly #streams = new Set<string>();

  has(stream: string): boolean {
    return this.#streams.has(stream);
  }

  add(stream: string): void {
    this.#streams.add(stream);
  }
}

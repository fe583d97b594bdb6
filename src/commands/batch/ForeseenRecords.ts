/** Records that lines of a batch write, from when such a line was let through: those behind it need not ask whether they exist. */
export class ForeseenRecords {
  readonly #streams = new Set<string>();

  has(stream: string): boolean {
    return this.#streams.has(stream);
  }

  add(stream: string): void {
    this.#streams.add(stream);
  }
}

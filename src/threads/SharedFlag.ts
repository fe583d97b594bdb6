/** A flag that threads share: some raise it, and others check, each for itself, whether it was raised. */
export class SharedFlag {
  /** From which another thread makes the same flag. */
  readonly buffer: SharedArrayBuffer;
  /** How often it was raised. */
  readonly #cell: Int32Array;

  constructor(buffer = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.buffer = buffer;
    this.#cell = new Int32Array(buffer);
  }

  raise(): void {
    Atomics.add(this.#cell, 0, 1);
  }

  /** Returns a function that says, each time, whether it was raised since the previous call. */
  watch(): () => boolean {
    let seen = 0;
    return () => {
      const raised = Atomics.load(this.#cell, 0);
      const isNew = raised !== seen;
      seen = raised;
      return isNew;
    };
  }
}

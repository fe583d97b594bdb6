/** A flag that threads share: some raise it, one takes it down. */
export class SharedFlag {
  /** What another thread makes the same flag of. */
  readonly buffer: SharedArrayBuffer;
  readonly #cell: Int32Array;

  constructor(buffer = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.buffer = buffer;
    this.#cell = new Int32Array(buffer);
  }

  raise(): void {
    Atomics.store(this.#cell, 0, 1);
  }

  /** Whether it was raised since it was taken down last. */
  takeDown(): boolean {
    return Atomics.exchange(this.#cell, 0, 0) === 1;
  }
}

/** A flag that threads share: some raise it, and others wait, each for itself, until it is raised. */
export class SharedFlag {
  /** From which another thread makes the same flag. */
  readonly buffer: SharedArrayBuffer;
  /** How often it was raised. */
  readonly #cell: Int32Array<SharedArrayBuffer>;

  constructor(buffer = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.buffer = buffer;
    this.#cell = new Int32Array(buffer);
  }

  raise(): void {
    Atomics.add(this.#cell, 0, 1);
    Atomics.notify(this.#cell, 0);
  }

  /**
   * Returns a function that waits until the flag is raised, or was since the previous call; for at most so many milliseconds, and
   * not beyond the signal.
   */
  watch(): (ms: number, signal: AbortSignal) => Promise<void> {
    let seen = 0;
    return async (ms, signal) => {
      const raised = Atomics.waitAsync(this.#cell, 0, seen, ms);
      if (raised.async) {
        const { promise, resolve } = Promise.withResolvers<unknown>();
        raised.value.then(resolve);
        // What V8 waits for does not keep a thread alive: the timer does.
        const timer = setTimeout(resolve, ms);
        signal.addEventListener('abort', resolve);
        if (!signal.aborted) await promise;
        signal.removeEventListener('abort', resolve);
        clearTimeout(timer);
      }
      seen = Atomics.load(this.#cell, 0);
    };
  }
}

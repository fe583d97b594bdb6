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

const ACQUIRED = 0;

/** Places for an expensive resource; all threads that share the buffer have `count` of them together. */
export class SharedSemaphore {
  /** From which another thread makes the same places. */
  readonly buffer: SharedArrayBuffer;
  readonly #count: number;
  /** How many are taken; followed by how many of them by each thread. */
  readonly #cells: Int32Array;
  readonly #own: number;
  readonly #waiting: (() => void)[] = [];

  /** `thread`: the number of the calling thread, of `threads` that share the places. */
  constructor(count: number, buffer = SharedSemaphore.bufferFor(1), thread = 0) {
    this.buffer = buffer;
    this.#count = count;
    this.#cells = new Int32Array(buffer);
    this.#own = thread + 1;
  }

  static bufferFor(threads: number): SharedArrayBuffer {
    return new SharedArrayBuffer((threads + 1) * Int32Array.BYTES_PER_ELEMENT);
  }

  /** How many callers in this thread are waiting for a place. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Takes a place, if one is free. */
  tryAcquire(): boolean {
    for (;;) {
      const taken = Atomics.load(this.#cells, ACQUIRED);
      if (taken >= this.#count) return false;
      if (Atomics.compareExchange(this.#cells, ACQUIRED, taken, taken + 1) !== taken) continue;
      Atomics.add(this.#cells, this.#own, 1);
      return true;
    }
  }

  /** Takes a place as soon as one is free; first come, first served within this thread. */
  async wait(): Promise<void> {
    if (this.#waiting.length === 0 && this.tryAcquire()) return;
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) void this.#letIn();
    });
  }

  give(): void {
    this.#give(1);
  }

  /** Gives back what a thread had that has ended; called by another thread on its behalf. */
  giveAll(): void {
    this.#give(Atomics.load(this.#cells, this.#own));
  }

  #give(places: number): void {
    Atomics.sub(this.#cells, this.#own, places);
    Atomics.sub(this.#cells, ACQUIRED, places);
    Atomics.notify(this.#cells, ACQUIRED, places);
  }

  async #letIn(): Promise<void> {
    while (this.#waiting.length > 0) {
      if (this.tryAcquire()) this.#waiting.shift()?.();
      else await Atomics.waitAsync(this.#cells, ACQUIRED, this.#count).value;
    }
  }
}

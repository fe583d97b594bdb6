const TAKEN = 0;

/** Places for an expensive resource; all threads that share the buffer have `count` of them together. */
export class SharedPlaces {
  /** From which another thread makes the same places. */
  readonly buffer: SharedArrayBuffer;
  readonly #count: number;
  /** How many are taken; followed by how many of them by each thread. */
  readonly #cells: Int32Array;
  readonly #own: number;
  readonly #waiting: (() => void)[] = [];

  /** `thread`: the number of the calling thread, of `threads` that share the places. */
  constructor(count: number, buffer = SharedPlaces.bufferFor(1), thread = 0) {
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
  take(): boolean {
    for (;;) {
      const taken = Atomics.load(this.#cells, TAKEN);
      if (taken >= this.#count) return false;
      if (Atomics.compareExchange(this.#cells, TAKEN, taken, taken + 1) !== taken) continue;
      Atomics.add(this.#cells, this.#own, 1);
      return true;
    }
  }

  /** Takes a place as soon as one is free; first come, first served within this thread. */
  async wait(): Promise<void> {
    if (this.#waiting.length === 0 && this.take()) return;
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
    Atomics.sub(this.#cells, TAKEN, places);
    Atomics.notify(this.#cells, TAKEN, places);
  }

  async #letIn(): Promise<void> {
    while (this.#waiting.length > 0) {
      if (this.take()) this.#waiting.shift()?.();
      else await Atomics.waitAsync(this.#cells, TAKEN, this.#count).value;
    }
  }
}

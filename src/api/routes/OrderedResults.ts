/** Characters of results waiting for earlier ones: beyond this they are kept short. */
const MAX_HELD = 64 * 1024 * 1024;
/** Characters handed over at once. */
const CHUNK = 64 * 1024;

/** Puts the results of lines into the order of the lines, as they arrive. */
export class OrderedResults {
  readonly #texts: (string | undefined)[];
  #next = 0;
  #held = 0;
  #end: string | undefined;
  #changed = Promise.withResolvers<void>();

  /** `count`: the number of lines. */
  constructor(count: number) {
    this.#texts = new Array(count).fill(undefined);
  }

  /** Takes the result of the line at an index, once; a short one, where too much is held. */
  add(index: number, text: (isShort: boolean) => string): void {
    const result = text(this.#held > MAX_HELD);
    this.#texts[index] = result;
    this.#held += result.length;
    if (index === this.#next) this.#wake();
  }

  /** Takes the text that follows the results, once all are there. */
  end(text: string): void {
    this.#end = text;
    this.#wake();
  }

  /** Yields the results in order, many together, and the text that follows them. */
  async *chunks(): AsyncGenerator<string> {
    for (;;) {
      const text = this.#take();
      if (text !== '') yield text;
      else if (this.#end !== undefined) break;
      else await this.#changed.promise;
    }
    yield this.#end;
  }

  #take(): string {
    let taken = '';
    for (; taken.length < CHUNK; this.#next += 1) {
      const text = this.#texts[this.#next];
      if (text === undefined) break;
      taken += text;
      this.#texts[this.#next] = undefined;
    }
    this.#held -= taken.length;
    return taken;
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

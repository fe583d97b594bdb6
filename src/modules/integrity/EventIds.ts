import { hash } from 'node:crypto';

/** Number of 32-bit words per entry: 128 bits of a hash, enough to be practically sure that an id is repeated, or not. */
const WORDS = 4;
const FIRST_ENTRIES = 1 << 12;

/** A set of many millions of event ids, in 32 to 64 bytes each; a `Set` of strings ends at 16 million. */
export class EventIds {
  #words = new Uint32Array(FIRST_ENTRIES * WORDS);
  #size = 0;

  /** Adds an id; false when it was already present. */
  add(id: string): boolean {
    const entry = hash('sha256', id, 'buffer');
    const words = Array.from({ length: WORDS }, (_, at) => entry.readUInt32LE(at * 4));
    if (!this.#insert(words)) return false;
    this.#size += 1;
    if (this.#size * 2 > this.#words.length / WORDS) this.#grow();
    return true;
  }

  #insert(words: ArrayLike<number>): boolean {
    const entries = this.#words.length / WORDS;
    for (let entry = (words[0] as number) % entries; ; entry = (entry + 1) % entries) {
      const place = this.#words.subarray(entry * WORDS, (entry + 1) * WORDS);
      // No hash is all zeros.
      if (place.every((word) => word === 0)) {
        place.set(words);
        return true;
      }
      if (place.every((word, at) => word === words[at])) return false;
    }
  }

  #grow(): void {
    const before = this.#words;
    this.#words = new Uint32Array(before.length * 2);
    for (let at = 0; at < before.length; at += WORDS) {
      const words = before.subarray(at, at + WORDS);
      if (words.some((word) => word !== 0)) this.#insert(words);
    }
  }
}

import { hash } from 'node:crypto';

/** 32-bit words of an entry: 128 bits of a hash, which makes a repetition of any id, and of no other, certain enough. */
const WORDS = 4;
const FIRST_ENTRIES = 1 << 12;

/** The ids of many millions of events, in 32 to 64 bytes each, where a `Set` of texts ends at 16 million. */
export class EventIds {
  #words = new Uint32Array(FIRST_ENTRIES * WORDS);
  #size = 0;

  /** Takes an id; false when it was there already. */
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
      // Nothing hashes to zeros.
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

import { hash, randomBytes } from 'node:crypto';
import type { Count, Limit, RateLimiter } from '../../rateLimiters.ts';

/** Returns whole milliseconds on a clock shared by all threads of the process; that of `performance` starts with each thread. */
function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  // With fractions, a window that just began could seem to last longer than it does.
  return seconds * 1_000 + Math.floor(nanoseconds / 1_000_000);
}

interface Window {
  count: number;
  /** On the monotonic clock, in ms. */
  endsAt: number;
}

/** Counts in this process's memory, synchronously: every request is counted. */
export class MemoryRateLimiter implements RateLimiter {
  readonly limit: Limit;
  readonly #windows = new Map<string, Window>();
  #sweepAt = 0;

  constructor(limit: Limit) {
    this.limit = limit;
  }

  consume(key: string, times = 1): Count {
    const { points, seconds } = this.limit;
    const now = monotonicMs();
    let window = this.#windows.get(key);
    if (window === undefined || window.endsAt <= now) {
      this.#sweep(now);
      window = { count: 0, endsAt: now + seconds * 1_000 };
      this.#windows.set(key, window);
    }
    window.count += times;
    return {
      refused: window.count > points,
      refusals: Math.max(0, window.count - points),
      remaining: Math.max(0, points - window.count),
      msBeforeReset: window.endsAt - now,
    };
  }

  async reset(key: string): Promise<void> {
    this.#windows.delete(key);
  }

  /** Discards expired windows, once per window: keys are addresses, whose number is unlimited. */
  #sweep(now: number): void {
    if (now < this.#sweepAt) return;
    this.#sweepAt = now + this.limit.seconds * 1_000;
    for (const [key, { endsAt }] of this.#windows) if (endsAt <= now) this.#windows.delete(key);
  }
}

/** What threads that count together share. */
export interface CountsMemory {
  table: SharedArrayBuffer;
  /** Prevents choosing a key that is counted together with another one. */
  secret: Uint8Array;
}

const HEADER_BYTES = 64;
/**
 * Int32: whether a thread is using the table. Float64: windows begun since the table was last rewritten, and its number of slots.
 */
const LOCK = 0;
const BEGUN = 1;
const SLOTS = 2;

/**
 * Fields of a slot, in Float64: the hash of its key (0: never used), the end of its window, on the monotonic clock in ms, and the
 * count.
 */
const SLOT_FIELDS = 3;
const ENDS_AT = 1;
const COUNT = 2;
const HASH_BYTES = 6;

const FEWEST_SLOTS = 2 ** 15;
/** 100 MB: twice as many keys per window as a machine can receive. Beyond that, all counts restart. */
const MOST_SLOTS = 2 ** 22;

const SPINS = 100;
const WAIT_MS = 1;
/** A thread holds the table for microseconds: longer means that it was terminated and left the table locked. */
const STUCK_MS = 1_000;

const bytesFor = (slots: number) => HEADER_BYTES + slots * SLOT_FIELDS * Float64Array.BYTES_PER_ELEMENT;

/** Counts in windows shared by threads: a hash table in shared memory, with a lock. Together they count every request. */
export class SharedCounts {
  readonly #secret: string;
  readonly #table: SharedArrayBuffer;
  readonly #lock: Int32Array;
  readonly #cells: Float64Array;

  constructor({ table, secret }: CountsMemory) {
    this.#table = table;
    this.#secret = Buffer.from(secret).toString('hex');
    this.#lock = new Int32Array(table, 0, 1);
    this.#cells = new Float64Array(table);
  }

  static memory(): CountsMemory {
    const table = new SharedArrayBuffer(bytesFor(FEWEST_SLOTS), { maxByteLength: bytesFor(MOST_SLOTS) });
    new Float64Array(table)[SLOTS] = FEWEST_SLOTS;
    return { table, secret: randomBytes(16) };
  }

  /** As `RateLimiter.consume`. */
  consume({ name, points, seconds }: Limit, key: string, times = 1): Count {
    const hashed = this.#hash(name, key);
    const now = monotonicMs();
    return this.#alone(() => {
      const cells = this.#cells;
      let at = this.#find(hashed);
      if (cells[at] === 0) at = this.#begin(hashed, at, now);
      if ((cells[at + ENDS_AT] as number) <= now) {
        cells[at + ENDS_AT] = now + seconds * 1_000;
        cells[at + COUNT] = 0;
      }
      const count = (cells[at + COUNT] as number) + times;
      cells[at + COUNT] = count;
      return {
        refused: count > points,
        refusals: Math.max(0, count - points),
        remaining: Math.max(0, points - count),
        msBeforeReset: (cells[at + ENDS_AT] as number) - now,
      };
    });
  }

  /** As `RateLimiter.reset`. */
  reset({ name }: Limit, key: string): void {
    const hashed = this.#hash(name, key);
    this.#alone(() => {
      const at = this.#find(hashed);
      if (this.#cells[at] !== 0) this.#cells[at + ENDS_AT] = 0;
    });
  }

  #hash(name: string, key: string): number {
    return 1 + hash('sha256', `${this.#secret}\n${name}\n${key}`, 'buffer').readUIntBE(0, HASH_BYTES);
  }

  /** Returns the slot of a hash, or the empty slot where it belongs. There always is one. */
  #find(hashed: number): number {
    const slots = this.#cells[SLOTS] as number;
    for (let slot = hashed % slots; ; slot = (slot + 1) % slots) {
      const at = placeOf(slot);
      if (this.#cells[at] === hashed || this.#cells[at] === 0) return at;
    }
  }

  /** Takes an empty slot, up to half of all slots: beyond that, those whose windows have ended are cleared. */
  #begin(hashed: number, empty: number, now: number): number {
    const cells = this.#cells;
    let at = empty;
    if ((cells[BEGUN] as number) * 2 >= (cells[SLOTS] as number)) {
      this.#writeAnew(now);
      at = this.#find(hashed);
    }
    cells[BEGUN] = (cells[BEGUN] as number) + 1;
    cells[at] = hashed;
    cells[at + ENDS_AT] = 0;
    return at;
  }

  /** Rewrites the windows that have not ended, into a larger table if they fill a quarter of this one. */
  #writeAnew(now: number): void {
    const slots = this.#cells[SLOTS] as number;
    let lasting: Float64Array[] = [];
    for (let slot = 0; slot < slots; slot++) {
      const at = placeOf(slot);
      if ((this.#cells[at + ENDS_AT] as number) > now) lasting.push(this.#cells.slice(at, at + SLOT_FIELDS));
    }
    const needed = lasting.length * 4 > slots ? Math.min(slots * 4, MOST_SLOTS) : slots;
    if (lasting.length * 4 > needed) lasting = [];
    if (needed > slots) this.#table.grow(bytesFor(needed));
    this.#cells.fill(0, placeOf(0));
    this.#cells[SLOTS] = needed;
    this.#cells[BEGUN] = lasting.length;
    for (const fields of lasting) this.#cells.set(fields, this.#find(fields[0] as number));
  }

  /** Returns the result of `work`, run while no other thread uses the table. */
  #alone<Result>(work: () => Result): Result {
    this.#takeLock();
    try {
      return work();
    } finally {
      Atomics.store(this.#lock, LOCK, 0);
      Atomics.notify(this.#lock, LOCK, 1);
    }
  }

  #takeLock(): void {
    let waitedSince: number | undefined;
    for (let spins = 0; Atomics.compareExchange(this.#lock, LOCK, 0, 1) !== 0; spins++) {
      if (spins < SPINS) continue;
      waitedSince ??= performance.now();
      if (performance.now() - waitedSince > STUCK_MS) return;
      Atomics.wait(this.#lock, LOCK, 1, WAIT_MS);
    }
  }
}

function placeOf(slot: number): number {
  return HEADER_BYTES / Float64Array.BYTES_PER_ELEMENT + slot * SLOT_FIELDS;
}

/** Counts in memory shared by the threads of this process, synchronously: every request of all threads is counted. */
export class SharedRateLimiter implements RateLimiter {
  readonly limit: Limit;
  readonly #counts: SharedCounts;

  constructor(limit: Limit, counts: SharedCounts) {
    this.limit = limit;
    this.#counts = counts;
  }

  consume(key: string, times?: number): Count {
    return this.#counts.consume(this.limit, key, times);
  }

  async reset(key: string): Promise<void> {
    this.#counts.reset(this.limit, key);
  }
}

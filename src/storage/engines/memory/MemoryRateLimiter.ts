import type { Count, Limit, RateLimiter } from '../../rateLimiters.ts';
import { monotonicMs } from './monotonicMs.ts';

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

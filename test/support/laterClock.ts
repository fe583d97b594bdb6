import { type Clock, systemClock } from '../../src/storage/rateLimiters.ts';

/** A clock that goes as the system's does, so many milliseconds ahead of it; a test may change how many. */
export class LaterClock implements Clock {
  aheadMs: number;

  constructor(aheadMs = 0) {
    this.aheadMs = aheadMs;
  }

  now(): number {
    return systemClock.now() + this.aheadMs;
  }

  elapsed(): number {
    return systemClock.elapsed();
  }
}

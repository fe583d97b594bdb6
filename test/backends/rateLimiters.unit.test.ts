import { RateLimiterMemory } from 'rate-limiter-flexible';
import { describe } from 'vitest';
import { openRateLimiters } from '../../src/app/openBackend.ts';
import { FlexibleRateLimiter } from '../../src/backends/mongodb/FlexibleRateLimiter.ts';
import { SharedCounts } from '../../src/backends/SharedCounts.ts';
import { rateLimitersContract } from '../contracts/rateLimiters.ts';

const BESIDE_SQLITE = 'sqlite:unused';

describe('MemoryRateLimiter', () => rateLimitersContract(() => openRateLimiters(BESIDE_SQLITE)));

describe('SharedRateLimiter', () =>
  rateLimitersContract(() => openRateLimiters(BESIDE_SQLITE, SharedCounts.memory())));

// What counts while MongoDB is away.
describe('FlexibleRateLimiter', () =>
  rateLimitersContract(async () => ({
    limiter: (limit) => {
      const { name, points, seconds } = limit;
      return new FlexibleRateLimiter(
        limit,
        new RateLimiterMemory({ keyPrefix: name, points, duration: seconds }),
      );
    },
    close: async () => undefined,
  })));

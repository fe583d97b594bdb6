import { RateLimiterMemory } from 'rate-limiter-flexible';
import { describe } from 'vitest';
import { openRateLimiters } from '../../src/server/openStorage.ts';
import { SharedCounts } from '../../src/storage/engines/memory/rateLimiter.ts';
import { FlexibleRateLimiter } from '../../src/storage/engines/mongodb/rateLimiter.ts';

import { rateLimitersContract } from './contracts/rateLimiters.ts';

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

import {
  type RateLimiterAbstract,
  RateLimiterMemory,
  RateLimiterMongo,
  RateLimiterRes,
} from 'rate-limiter-flexible';
import { ServiceError, unavailable } from '../../../platform/errors.ts';
import type { Count, Limit, RateLimiter, RateLimiters } from '../../rateLimiters.ts';
import { INDEX_MS, MongoConnection } from './connection.ts';

/** Adapts a limiter of rate-limiter-flexible to `RateLimiter`. */
export class FlexibleRateLimiter implements RateLimiter {
  readonly limit: Limit;
  readonly #limiter: RateLimiterAbstract;

  constructor(limit: Limit, limiter: RateLimiterAbstract) {
    this.limit = limit;
    this.#limiter = limiter;
  }

  async consume(key: string, times = 1): Promise<Count> {
    const count = await this.#consume(key, times);
    const windowMs = this.limit.seconds * 1_000;
    // The library stores the ends of windows by the wall clock. One this far ahead was set before the clock went back.
    if (count.msBeforeReset > 2 * windowMs) {
      await this.reset(key);
      return this.#consume(key, times);
    }
    return { ...count, msBeforeReset: Math.min(count.msBeforeReset, windowMs) };
  }

  async reset(key: string): Promise<void> {
    await this.#limiter.delete(key);
  }
  async #consume(key: string, times: number): Promise<Count> {
    try {
      const { msBeforeNext, remainingPoints } = await this.#limiter.consume(key, times);
      return { refused: false, refusals: 0, remaining: remainingPoints, msBeforeReset: msBeforeNext };
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw unavailable('rate limit store', error);
      const refusals = Math.max(0, error.consumedPoints - this.limit.points);
      return { refused: true, refusals, remaining: 0, msBeforeReset: error.msBeforeNext };
    }
  }
}

/** The longest that a request waits for its count. */
const CALL_MS = 500;
const TABLE = 'rate_limits';

/**
 * Counts in MongoDB, so that all instances count together. While MongoDB is unreachable each instance counts by itself: a limit
 * is no reason to refuse a request.
 */
class MongoRateLimiter extends RateLimiterMongo {
  readonly #connection: MongoConnection;
  readonly #indexes: Once;
  readonly #alone: RateLimiterMemory;

  constructor(connection: MongoConnection, indexes: Once, { name, points, seconds }: Limit) {
    const limit = { keyPrefix: name, points, duration: seconds };
    super({
      ...limit,
      storeClient: connection.client,
      dbName: connection.db.databaseName,
      tableName: TABLE,
      disableIndexesCreation: true,
      // Beyond the limit a refusal takes only a memory lookup; the first one still reports how many requests there were.
      inMemoryBlockOnConsumed: points + 1,
    });
    this.#connection = connection;
    this.#indexes = indexes;
    this.#alone = new RateLimiterMemory(limit);
  }

  override async consume(key: string | number, points = 1): Promise<RateLimiterRes> {
    // Without the unique index, counts that start at once would be separate counts.
    if (!this.#indexes.done) {
      this.#indexes.try();
      return this.#alone.consume(key, points);
    }
    try {
      return await this.#connection.call(() => super.consume(key, points));
    } catch (error) {
      if (error instanceof ServiceError) return this.#alone.consume(key, points);
      throw error;
    }
  }

  override async delete(key: string | number): Promise<boolean> {
    await this.#alone.delete(key);
    try {
      return await this.#connection.call(() => super.delete(key));
    } catch (error) {
      if (error instanceof ServiceError) return false;
      throw error;
    }
  }
}

/** Work that is needed once, and tried by one caller on behalf of all until it succeeds. */
class Once {
  readonly #work: () => Promise<void>;
  #trying: Promise<void> | undefined;
  done = false;

  constructor(work: () => Promise<void>) {
    this.#work = work;
  }

  /** Resolves when it is done, or a store was unreachable. */
  try(): Promise<void> {
    this.#trying ??= this.#try().finally(() => {
      this.#trying = undefined;
    });
    return this.#trying;
  }

  async #try(): Promise<void> {
    try {
      await this.#work();
      this.done = true;
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
    }
  }
}

/**
 * Creates limiters over one connection to the database at `url`, and their indexes, if the server is reachable; while it is not,
 * each instance counts by itself. Throws on a malformed URL.
 */
export async function openMongoRateLimiters(url: string): Promise<RateLimiters> {
  const connection = new MongoConnection(url, {
    name: 'rate limit store',
    callMs: CALL_MS,
    writeConcern: { w: 1 },
  });
  const storeClient = connection.client;
  const { databaseName: dbName } = connection.db;
  const place = { storeClient, dbName, tableName: TABLE, disableIndexesCreation: true };
  const ofAll = new RateLimiterMongo({ ...place, points: 1, duration: 1 });
  const indexes = new Once(() => connection.call(() => ofAll.createIndexes(), INDEX_MS));
  await indexes.try();
  return {
    limiter: (limit) => new FlexibleRateLimiter(limit, new MongoRateLimiter(connection, indexes, limit)),
    close: () => connection.close(),
  };
}

import { RateLimiterMemory, RateLimiterMongo, type RateLimiterRes } from 'rate-limiter-flexible';
import { ServiceError } from '../../errors.ts';
import type { Limit } from '../../ports/rateLimiters.ts';
import { MongoConnection } from './MongoConnection.ts';

/** A request waits for its count no longer than this. */
const CALL_MS = 500;

/**
 * Counts in MongoDB, so that all instances count together. While MongoDB is away each counts by itself: a limit is no
 * reason to refuse a request.
 */
export class MongoRateLimiter extends RateLimiterMongo {
  readonly #connection: MongoConnection;
  readonly #alone: RateLimiterMemory;
  #indexed = false;

  /** Does not connect: the first count does. */
  constructor(connection: MongoConnection, { name, points, seconds }: Limit) {
    const limit = { keyPrefix: name, points, duration: seconds };
    super({
      ...limit,
      storeClient: connection.client,
      dbName: connection.db.databaseName,
      tableName: 'rate_limits',
      disableIndexesCreation: true,
      // Beyond the limit a refusal is one look into memory; the first still tells how often it was asked.
      inMemoryBlockOnConsumed: points + 1,
    });
    this.#connection = connection;
    this.#alone = new RateLimiterMemory(limit);
  }

  override async consume(key: string | number, points = 1): Promise<RateLimiterRes> {
    try {
      return await this.#connection.call(async () => {
        await this.#ensureIndexes();
        return super.consume(key, points);
      });
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

  /** Without the unique one, counts that begin at once would be separate counts. */
  async #ensureIndexes(): Promise<void> {
    if (this.#indexed) return;
    await this.createIndexes();
    this.#indexed = true;
  }
}

/** Limiters over one connection to the database at `url`. Does not connect: the first count does. Throws on a malformed URL. */
export function openMongoRateLimiters(url: string) {
  const connection = new MongoConnection(url, {
    name: 'rate limit store',
    callMs: CALL_MS,
    writeConcern: { w: 1 },
  });
  return {
    create: (limit: Limit) => new MongoRateLimiter(connection, limit),
    close: () => connection.close(),
  };
}

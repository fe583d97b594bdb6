import { RateLimiterMemory, RateLimiterMongo, type RateLimiterRes } from 'rate-limiter-flexible';
import { ServiceError } from '../../errors.ts';
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

  /** `points` requests in `duration` seconds. Does not connect: the first count does. Throws on a malformed URL. */
  constructor(url: string, limit: { points: number; duration: number }) {
    const connection = new MongoConnection(url, {
      name: 'rate limit store',
      callMs: CALL_MS,
      writeConcern: { w: 1 },
    });
    super({
      ...limit,
      storeClient: connection.client,
      dbName: connection.db.databaseName,
      tableName: 'rate_limits',
      disableIndexesCreation: true,
      inMemoryBlockOnConsumed: limit.points,
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

  close(): Promise<void> {
    return this.#connection.close();
  }

  /** Without the unique one, counts that begin at once would be separate counts. */
  async #ensureIndexes(): Promise<void> {
    if (this.#indexed) return;
    await this.createIndexes();
    this.#indexed = true;
  }
}

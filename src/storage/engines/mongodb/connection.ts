import {
  type Collection,
  type Db,
  type Document,
  MongoClient,
  type MongoClientOptions,
  MongoError,
  MongoServerError,
} from 'mongodb';
import { unavailable } from '../../../platform/errors.ts';
import { isEarlierFormat, STORE_FORMAT } from '../../storeFormat.ts';
import { NoAnswer, withTimeout } from '../shared.ts';

const AUTHENTICATION_FAILED = [18, 8_000];
const UNAUTHORIZED = 13;
const OUT_OF_DISK_SPACE = 14_031;

/**
 * Describes what is wrong with a MongoDB server, for operators: which one, and what to do. Undefined when the server's answer
 * does not tell.
 */
export function mongoProblem(hosts: string, error: unknown): string | undefined {
  const server = `MongoDB at ${hosts}`;
  if (!(error instanceof MongoServerError))
    return `${server} does not answer. Look after it, the network between, and its URL.`;
  if (AUTHENTICATION_FAILED.includes(Number(error.code)))
    return `${server} refuses the user or the password. Correct them in its URL.`;
  if (error.code === UNAUTHORIZED)
    return `${server} does not let the user do this. Give it the role readWrite on the database.`;
  return error.code === OUT_OF_DISK_SPACE ? `${server} has no disk space left. Free some there.` : undefined;
}

/** Says which options of a URL the driver does not accept: their names, and nothing else of the URL. */
function malformedUrl(url: string, error: unknown): string {
  const { message = '' } = error as { message?: string };
  const names = (/\?(.*)$/.exec(url)?.[1] ?? '').split('&').map((option) => option.replace(/=.*/, ''));
  const named = names.filter(
    (name) => /^\w+$/.test(name) && message.toLowerCase().includes(name.toLowerCase()),
  );
  const what = named.length === 0 ? 'it' : `its option ${named.join(', ')}`;
  return `The URL of MongoDB is malformed: the driver does not accept ${what}. A user or password needs %XX for : / ? # [ ] @ and %.`;
}

const CALL_MS = 2_000;
/**
 * How many times as long the driver waits for a connection: its timers end a wait for what has arrived while the loop was held up (see
 * `beginTimeout`).
 */
const TIMES_DRIVER = 4;
/** An index is created once, over existing data. */
export const INDEX_MS = 60_000;
/** How long to leave a server alone that did not answer, before one call tries it again. */
const REST_MS = 500;
/** Limits how long an abandoned call can occupy its connection. */
const SOCKET_TIMEOUT_MS = 60_000;
const DEFAULT_DATABASE = 'chartledger';

interface MongoConnectionOptions {
  /** Name of what is unavailable, as reported to callers. */
  name: string;
  /** Time limit for a call. */
  callMs?: number;
  writeConcern: NonNullable<MongoClientOptions['writeConcern']>;
}

/** The driver's errors may repeat what was set: they are replaced by the names of the options that they are about. */
function openClient(url: string, options: MongoClientOptions): MongoClient {
  try {
    return new MongoClient(url, options);
  } catch (error) {
    throw unavailable('MongoDB', undefined, malformedUrl(url, error));
  }
}

/**
 * One MongoDB database, connected to on first use. No call exceeds its time limit; while the server does not answer, one call at
 * a time tries it and the others are refused at once.
 */
export class MongoConnection {
  readonly client: MongoClient;
  readonly db: Db;
  readonly #name: string;
  readonly #callMs: number;
  #failedAt: number | undefined;
  /** The problem that was found with it. */
  #problem: string | undefined;
  #probing = false;
  #hasConnected = false;

  /** `url` in MongoDB's format; the database is its path, `chartledger` when it has none. Throws `unavailable` on a malformed one. */
  constructor(url: string, { name, callMs = CALL_MS, writeConcern }: MongoConnectionOptions) {
    const driverMs = TIMES_DRIVER * callMs;
    this.client = openClient(url, {
      appName: 'chartledger',
      connectTimeoutMS: driverMs,
      serverSelectionTimeoutMS: driverMs,
      waitQueueTimeoutMS: driverMs,
      socketTimeoutMS: SOCKET_TIMEOUT_MS,
      readPreference: 'primary',
      writeConcern,
    });
    this.db = this.client.db(databaseOf(url));
    this.#name = name;
    this.#callMs = callMs;
  }

  /**
   * Returns the result of `work`; `unavailable` when the driver fails or does not answer within the time limit. Rejects as
   * `isEarlierFormat` throws while the database is of a later format.
   */
  async call<Result>(work: (db: Db) => Promise<Result>, callMs = this.#callMs): Promise<Result> {
    const probe = this.#failedAt !== undefined;
    if (probe && (this.#probing || performance.now() - Number(this.#failedAt) < REST_MS)) {
      throw unavailable(this.#name, undefined, this.#problem);
    }
    this.#probing = probe;
    let isGivenUp = false;
    try {
      const result = await withTimeout(
        callMs,
        this.#connected().then(() => {
          // Nothing is begun for a caller who has been refused.
          if (isGivenUp) throw new NoAnswer('given up');
          return work(this.db);
        }),
      );
      this.#failedAt = undefined;
      return result;
    } catch (error) {
      isGivenUp = true;
      const failed = isFailure(error);
      this.#failedAt = failed && !isAnswer(error) ? performance.now() : undefined;
      if (!failed) throw error;
      this.#problem = mongoProblem(this.client.options.hosts.join(), error);
      throw unavailable(this.#name, error, this.#problem);
    } finally {
      if (probe) this.#probing = false;
    }
  }

  /** The driver would connect by itself, but once that has failed its client stays closed. */
  async #connected(): Promise<void> {
    if (this.#hasConnected) return;
    await this.client.connect();
    await this.#raiseFormat();
    this.#hasConnected = true;
  }

  /** All that share the database share its format, which only rises. */
  async #raiseFormat(): Promise<void> {
    const formats = this.db.collection<{ _id: string; number: number }>('format');
    const found = await formats.findOne({ _id: 'format' });
    const place = `The MongoDB database ${this.db.databaseName}`;
    if (!isEarlierFormat(place, found?.number ?? 0)) return;
    await formats.updateOne({ _id: 'format' }, { $max: { number: STORE_FORMAT } }, { upsert: true });
  }

  /** Never fails, and does not wait for a server that does not answer. */
  async close(): Promise<void> {
    await withTimeout(this.#callMs, this.client.close()).catch(() => undefined);
  }
}

/** The driver rethrows socket errors unchanged, such as `write ECONNRESET`: they have a `syscall`. */
function isFailure(error: unknown): boolean {
  if (error instanceof NoAnswer || error instanceof MongoError) return true;
  return typeof error === 'object' && error !== null && 'syscall' in error;
}

/** Whether the error came from the server. A bulk write that was ended by a network error has no code. */
function isAnswer(error: unknown): boolean {
  return error instanceof MongoServerError && typeof error.code === 'number';
}

function databaseOf(url: string): string {
  const [, path = ''] = /^[^/]+:\/\/[^/?]*\/([^?]*)/.exec(url) ?? [];
  return decodeURIComponent(path) || DEFAULT_DATABASE;
}

const DUPLICATE_KEY = 11000;
const NAMESPACE_EXISTS = 48;

/** Whether a collection could not be created because it exists. */
export function isNamespaceTaken(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === NAMESPACE_EXISTS;
}

/** Inserts a document; false when one with its `_id` exists. */
export async function insertNew<Schema extends Document>(
  collection: Collection<Schema>,
  document: Parameters<Collection<Schema>['insertOne']>[0],
): Promise<boolean> {
  try {
    await collection.insertOne(document);
    return true;
  } catch (error) {
    if (error instanceof MongoServerError && error.code === DUPLICATE_KEY) return false;
    throw error;
  }
}

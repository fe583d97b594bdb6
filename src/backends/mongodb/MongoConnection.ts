import { type Db, MongoClient, type MongoClientOptions, MongoError, MongoServerError } from 'mongodb';
import { unavailable } from '../../errors.ts';
import { mongoProblem } from './mongoProblem.ts';

const CALL_MS = 2_000;
/** An index is made once, and over what is there already. */
export const INDEX_MS = 60_000;
/** How long a server that did not answer is left alone before one call tries it again. */
const REST_MS = 500;
/** Bounds how long a call that was given up can hold its connection. */
const SOCKET_TIMEOUT_MS = 60_000;
const DEFAULT_DATABASE = 'chartledger';

export interface MongoConnectionOptions {
  /** What a caller is told is away. */
  name: string;
  /** How long a call may take. */
  callMs?: number;
  writeConcern: NonNullable<MongoClientOptions['writeConcern']>;
}

/**
 * One MongoDB database, connected to when it is first used. No call outlasts its time; while the server does not
 * answer, one call at a time tries it and the others are refused at once.
 */
export class MongoConnection {
  readonly client: MongoClient;
  readonly db: Db;
  readonly #name: string;
  readonly #callMs: number;
  #failedAt: number | undefined;
  /** What was found to be the matter with it. */
  #problem: string | undefined;
  #probing = false;
  #hasConnected = false;

  /** `url` as MongoDB writes it; the database is its path, `chartledger` when it has none. Throws on a malformed one. */
  constructor(url: string, { name, callMs = CALL_MS, writeConcern }: MongoConnectionOptions) {
    this.client = new MongoClient(url, {
      appName: 'chartledger',
      connectTimeoutMS: callMs,
      serverSelectionTimeoutMS: callMs,
      waitQueueTimeoutMS: callMs,
      socketTimeoutMS: SOCKET_TIMEOUT_MS,
      readPreference: 'primary',
      writeConcern,
    });
    this.db = this.client.db(databaseOf(url));
    this.#name = name;
    this.#callMs = callMs;
  }

  /** The result of `work`; `unavailable` when the driver fails or nothing comes within the time of a call. */
  async call<Result>(work: (db: Db) => Promise<Result>, callMs = this.#callMs): Promise<Result> {
    const probe = this.#failedAt !== undefined;
    if (probe && (this.#probing || performance.now() - Number(this.#failedAt) < REST_MS)) {
      throw unavailable(this.#name, undefined, this.#problem);
    }
    this.#probing = probe;
    try {
      const result = await within(
        callMs,
        this.#connected().then(() => work(this.db)),
      );
      this.#failedAt = undefined;
      return result;
    } catch (error) {
      const failed = isFailure(error);
      this.#failedAt = failed && !isAnswer(error) ? performance.now() : undefined;
      if (!failed) throw error;
      this.#problem = mongoProblem(this.client.options.hosts.join(), error);
      throw unavailable(this.#name, error, this.#problem);
    } finally {
      if (probe) this.#probing = false;
    }
  }

  /** The driver connects by itself too, but when that failed once its client stays closed. */
  async #connected(): Promise<void> {
    if (this.#hasConnected) return;
    await this.client.connect();
    this.#hasConnected = true;
  }

  /** Never fails, and does not wait for a server that does not answer. */
  async close(): Promise<void> {
    await within(this.#callMs, this.client.close()).catch(() => undefined);
  }
}

class NoAnswer extends Error {}

/** The driver rethrows what a socket says as it is, such as `write ECONNRESET`: it has a `syscall`. */
function isFailure(error: unknown): boolean {
  if (error instanceof NoAnswer || error instanceof MongoError) return true;
  return typeof error === 'object' && error !== null && 'syscall' in error;
}

/** Whether the server said it. A bulk write that a network error ended has no code. */
function isAnswer(error: unknown): boolean {
  return error instanceof MongoServerError && typeof error.code === 'number';
}

async function within<Result>(ms: number, work: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new NoAnswer(`no answer within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

function databaseOf(url: string): string {
  const [, path = ''] = /^[^/]+:\/\/[^/?]*\/([^?]*)/.exec(url) ?? [];
  return decodeURIComponent(path) || DEFAULT_DATABASE;
}

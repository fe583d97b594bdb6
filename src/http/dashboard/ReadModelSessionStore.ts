import { createHash } from 'node:crypto';
import { type SessionData, Store } from 'express-session';
import type { ReadModels } from '../../ports/readModels.ts';

const MODEL = 'sessions_v1';
const PARTITION = 'sessions';
/** How exactly the store knows when a session was last used: each use of it is no write. */
const TOUCH_EVERY_MS = 60_000;
const PRUNE_EVERY_MS = 60_000;

type Callback<Result> = (error?: unknown, result?: Result) => void;

/** Answers a callback with what a promise gives. */
function answer<Result>(promise: Promise<Result>, callback: Callback<Result> | undefined): void {
  promise.then(
    (result) => callback?.(null, result),
    (error: unknown) => callback?.(error),
  );
}

/**
 * Sessions among the read models, so that every instance knows them. They are no truth of the log: where they are lost,
 * people sign in again. Stored under a hash of the session's id, so that whoever reads the store cannot take a session over.
 */
export class ReadModelSessionStore extends Store {
  readonly #readModels: ReadModels;
  readonly #idleMs: number;
  #lastPosition = 0;
  #prunedAt = 0;

  /** `idleMs`: a session ends when it was not used for so long. */
  constructor(readModels: ReadModels, idleMs: number) {
    super();
    this.#readModels = readModels;
    this.#idleMs = idleMs;
  }

  override get(sessionId: string, callback: Callback<SessionData | null>): void {
    answer(this.#load(sessionId), callback);
  }

  override set(sessionId: string, session: SessionData, callback?: Callback<void>): void {
    answer(this.#save(sessionId, session), callback);
    this.#pruneNowAndThen();
  }

  override touch(sessionId: string, session: SessionData, callback?: Callback<void>): void {
    answer(this.#touch(sessionId, session), callback);
  }

  override destroy(sessionId: string, callback?: Callback<void>): void {
    answer(this.#readModels.remove(MODEL, [hashed(sessionId)], this.#position()), callback);
  }

  async #load(sessionId: string): Promise<SessionData | null> {
    const [row] = await this.#readModels.load(MODEL, [hashed(sessionId)]);
    if (row === undefined || isBefore(row.position, this.#idleMs)) return null;
    return row.body as unknown as SessionData;
  }

  async #save(sessionId: string, session: SessionData): Promise<void> {
    const id = hashed(sessionId);
    const order = Number.parseInt(id.slice(0, 12), 16);
    const body = JSON.parse(JSON.stringify(session));
    await this.#readModels.save(MODEL, [
      { id, partition: PARTITION, order, position: this.#position(), body },
    ]);
  }

  async #touch(sessionId: string, session: SessionData): Promise<void> {
    const [row] = await this.#readModels.load(MODEL, [hashed(sessionId)]);
    if (row && isBefore(row.position, TOUCH_EVERY_MS)) await this.#save(sessionId, session);
  }

  /** Removes the sessions that have ended; what cannot be removed now is the next time. */
  #pruneNowAndThen(): void {
    const now = Date.now();
    if (now - this.#prunedAt < PRUNE_EVERY_MS) return;
    this.#prunedAt = now;
    this.#readModels.prune(MODEL, (now - this.#idleMs) * 1000).catch(() => undefined);
  }

  /** A place in the order of this store's writes: microseconds since 1970, each used once. */
  #position(): number {
    this.#lastPosition = Math.max(this.#lastPosition + 1, Date.now() * 1000);
    return this.#lastPosition;
  }
}

const hashed = (sessionId: string) => createHash('sha256').update(sessionId).digest('hex');

const isBefore = (position: number, ms: number) => position / 1000 < Date.now() - ms;

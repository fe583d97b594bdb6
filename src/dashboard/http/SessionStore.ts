import { createHash, hkdfSync } from 'node:crypto';
import { type Session, type SessionData, Store } from 'express-session';
import { z } from 'zod';
import { SEALING_KEY_BYTES, seal, unseal } from '../../platform/sealing.ts';
import type { StateRow, StateStore, StateTable } from '../../storage/stateStore.ts';

interface StoredSession {
  cookie: SessionData['cookie'];
  /** Everything else; undefined: stored by a version that did not seal it. */
  sealed?: string | undefined;
}

/** A row's revision is when the session was last used, in microseconds since 1970. */
export const sessionsTable: StateTable<StoredSession> = {
  name: 'sessions_v1',
  body: z.object({ cookie: z.custom<SessionData['cookie']>(isObject), sealed: z.string().optional() }),
};

const PARTITION = 'sessions';
/** How precisely the store knows when a session was last used: not every use causes a write. */
export const TOUCH_EVERY_MS = 60_000;
const PRUNE_EVERY_MS = 60_000;
/** Above every revision: a session ends even if a clock that is ahead saved it last. */
const ANY = Number.MAX_SAFE_INTEGER;

type Callback<Result> = (error?: unknown, result?: Result) => void;

/** Calls a callback with the result of a promise. */
function answer<Result>(promise: Promise<Result>, callback: Callback<Result> | undefined): void {
  promise.then(
    (result) => callback?.(null, result),
    (error: unknown) => callback?.(error),
  );
}

/**
 * Keeps sessions in the state store, so that every instance knows them: where they are lost, people sign in again.
 * Stored under a hash of the session's id and sealed under a key derived from that id, so that nobody who reads the
 * store can take a session over, or read what it holds: secrets shown once, searches, forms (docs/decisions/061).
 */
export class SessionStore extends Store {
  readonly #state: StateStore;
  readonly #idleMs: number;
  /** Sessions that were already stored when their request came. */
  readonly #loaded = new WeakSet<SessionData>();
  #lastRevision = 0;
  #prunedAt = 0;

  /** `idleMs`: a session ends when it has not been used for this long. */
  constructor(state: StateStore, idleMs: number) {
    super();
    this.#state = state;
    this.#idleMs = idleMs;
  }

  override get(sessionId: string, callback: Callback<SessionData | null>): void {
    answer(this.#load(sessionId), callback);
  }

  override createSession(...[req, data]: Parameters<Store['createSession']>): Session & SessionData {
    const session = super.createSession(req, data);
    this.#loaded.add(session);
    return session;
  }

  override set(sessionId: string, session: SessionData, callback?: Callback<void>): void {
    answer(this.#save(sessionId, session), callback);
    this.#pruneNowAndThen();
  }

  override touch(sessionId: string, session: SessionData, callback?: Callback<void>): void {
    answer(this.#touch(sessionId, session), callback);
  }

  override destroy(sessionId: string, callback?: Callback<void>): void {
    answer(this.#state.remove(sessionsTable, [hashed(sessionId)], ANY), callback);
  }

  async #load(sessionId: string): Promise<SessionData | null> {
    const [row] = await this.#state.load(sessionsTable, [hashed(sessionId)]);
    if (row === undefined || isBefore(row.revision, this.#idleMs)) return null;
    return opened(sessionId, row.body);
  }

  /** Another request may have ended a session while it was in use here: then it stays ended. */
  async #save(sessionId: string, session: SessionData): Promise<void> {
    const row = this.#rowOf(sessionId, session);
    if (!this.#loaded.has(session)) {
      await this.#state.save(sessionsTable, [row]);
      return;
    }
    for (;;) {
      const [before] = await this.#state.load(sessionsTable, [row.id]);
      if (before === undefined) return;
      // Who saved it last may have a clock that is ahead.
      const revision = Math.max(row.revision, before.revision + 1);
      if (await this.#state.swap(sessionsTable, { ...row, revision }, before.revision)) return;
    }
  }

  async #touch(sessionId: string, session: SessionData): Promise<void> {
    const [row] = await this.#state.load(sessionsTable, [hashed(sessionId)]);
    if (row === undefined || !isBefore(row.revision, TOUCH_EVERY_MS)) return;
    // Where that fails, another request has just used or ended it.
    await this.#state.swap(sessionsTable, this.#rowOf(sessionId, session), row.revision);
  }

  #rowOf(sessionId: string, session: SessionData): StateRow<StoredSession> {
    const id = hashed(sessionId);
    const order = Number.parseInt(id.slice(0, 12), 16);
    return { id, partition: PARTITION, order, revision: this.#revision(), body: sealed(sessionId, session) };
  }

  /** Removes the sessions that have ended; any that cannot be removed now are removed the next time. */
  #pruneNowAndThen(): void {
    const now = Date.now();
    if (now - this.#prunedAt < PRUNE_EVERY_MS) return;
    this.#prunedAt = now;
    this.#state.prune(sessionsTable, (now - this.#idleMs) * 1000).catch(() => undefined);
  }

  /** Returns a place in the order of this store's writes: microseconds since 1970, each used once. */
  #revision(): number {
    this.#lastRevision = Math.max(this.#lastRevision + 1, Date.now() * 1000);
    return this.#lastRevision;
  }
}

function sealed(sessionId: string, { cookie, ...data }: SessionData): StoredSession {
  return { cookie, sealed: seal(keyOf(sessionId), hashed(sessionId), JSON.stringify(data)) };
}

function opened(sessionId: string, { cookie, sealed }: StoredSession): SessionData | null {
  if (sealed === undefined) return null;
  return { cookie, ...JSON.parse(unseal(keyOf(sessionId), hashed(sessionId), sealed)) };
}

function keyOf(sessionId: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', sessionId, '', 'session', SEALING_KEY_BYTES));
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

const hashed = (sessionId: string) => createHash('sha256').update(sessionId).digest('hex');

const isBefore = (revision: number, ms: number) => revision / 1000 < Date.now() - ms;

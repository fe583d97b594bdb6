import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import type { Request } from 'express';
import type { SessionData } from 'express-session';
import type { Page } from 'playwright-core';
import { SessionStore, sessionsTable } from '../../src/dashboard/http/session.ts';
import type { StateStore } from '../../src/storage/stateStore.ts';

/** How many sessions the service keeps. */
export async function countSessions(stateStore: StateStore): Promise<number> {
  return (await stateStore.page(sessionsTable, { partition: 'sessions', limit: 10_000 })).length;
}

/** Reads a session as the service does, from the value of its cookie. */
export function readSession(stateStore: StateStore, cookie: string): Promise<SessionData | null | undefined> {
  const store = new SessionStore(stateStore, Number.MAX_SAFE_INTEGER);
  return promisify<string, SessionData | null | undefined>(store.get.bind(store))(sessionIdIn(cookie));
}

function sessionIdIn(cookie: string): string {
  return decodeURIComponent(cookie).slice('s:'.length).split('.')[0] as string;
}

/** What the service keeps of the session of a page, for tests that cannot wait until it ends. */
export class StoredSession {
  readonly #stateStore: StateStore;
  readonly #cookie: string;

  private constructor(stateStore: StateStore, cookie: string) {
    this.#stateStore = stateStore;
    this.#cookie = cookie;
  }

  /** The session by the cookie of the page's context. */
  static async of(page: Page, stateStore: StateStore): Promise<StoredSession> {
    const cookies = await page.context().cookies();
    const { value = '' } = cookies.find(({ name }) => name === 'chartledger_session') ?? {};
    return new StoredSession(stateStore, value);
  }

  /** When it was used last, as far as that is written down; milliseconds since 1970. */
  async lastUsed(): Promise<number> {
    return (await this.#row()).revision / 1000;
  }

  /** Makes it one that was last used so long ago. */
  async setBack(ms: number): Promise<void> {
    const row = await this.#row();
    await this.#stateStore.remove(sessionsTable, [row.id], row.revision);
    await this.#stateStore.save(sessionsTable, [{ ...row, revision: (Date.now() - ms) * 1000 }]);
  }

  /** Makes it one of a sign-in so long ago. */
  signedInBefore(ms: number): Promise<void> {
    return this.#change({ signedInAt: Date.now() - ms });
  }

  /** Makes it one whose user proved so long ago who he is. */
  provedBefore(ms: number): Promise<void> {
    return this.#change({ provedAt: Date.now() - ms });
  }

  async #change(change: Partial<SessionData>): Promise<void> {
    const store = new SessionStore(this.#stateStore, Number.MAX_SAFE_INTEGER);
    const data = await readSession(this.#stateStore, this.#cookie);
    const sessionID = sessionIdIn(this.#cookie);
    const session = store.createSession({ sessionID } as Request, data as SessionData);
    await promisify<string, SessionData>(store.set.bind(store))(sessionID, Object.assign(session, change));
  }

  async #row() {
    const id = createHash('sha256').update(sessionIdIn(this.#cookie)).digest('hex');
    const [row] = await this.#stateStore.load(sessionsTable, [id]);
    if (row === undefined) throw new Error('there is no such session');
    return row;
  }
}

import { createHash } from 'node:crypto';
import type { SessionData } from 'express-session';
import type { Page } from 'playwright-core';
import { sessionsTable } from '../../src/dashboard/shell/SessionStore.ts';
import type { StateRow, StateStore } from '../../src/ports/stateStore.ts';

/** How many sessions the service keeps. */
export async function countSessions(stateStore: StateStore): Promise<number> {
  return (await stateStore.page(sessionsTable, { partition: 'sessions', limit: 10_000 })).length;
}

/** What the service keeps of the session of a page, for tests that cannot wait until it ends. */
export class StoredSession {
  readonly #stateStore: StateStore;
  readonly #id: string;

  private constructor(stateStore: StateStore, id: string) {
    this.#stateStore = stateStore;
    this.#id = id;
  }

  /** The session by the cookie of the page's context. */
  static async of(page: Page, stateStore: StateStore): Promise<StoredSession> {
    const cookies = await page.context().cookies();
    const { value = '' } = cookies.find(({ name }) => name === 'chartledger_session') ?? {};
    const sessionId = decodeURIComponent(value).slice('s:'.length).split('.')[0] as string;
    return new StoredSession(stateStore, createHash('sha256').update(sessionId).digest('hex'));
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
    const row = await this.#row();
    const body = { ...row.body, ...change };
    await this.#stateStore.save(sessionsTable, [{ ...row, revision: row.revision + 1, body }]);
  }

  async #row(): Promise<StateRow<SessionData>> {
    const [row] = await this.#stateStore.load(sessionsTable, [this.#id]);
    if (row === undefined) throw new Error('there is no such session');
    return row;
  }
}

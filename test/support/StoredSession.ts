import { createHash } from 'node:crypto';
import type { Page } from 'playwright-core';
import type { ReadModels, Row } from '../../src/ports/readModels.ts';

const MODEL = 'sessions_v1';

/** What the service keeps of the session of a page, for tests that cannot wait until it ends. */
export class StoredSession {
  readonly #readModels: ReadModels;
  readonly #id: string;

  private constructor(readModels: ReadModels, id: string) {
    this.#readModels = readModels;
    this.#id = id;
  }

  /** The session by the cookie of the page's context. */
  static async of(page: Page, readModels: ReadModels): Promise<StoredSession> {
    const cookies = await page.context().cookies();
    const { value = '' } = cookies.find(({ name }) => name === 'chartledger_session') ?? {};
    const sessionId = decodeURIComponent(value).slice('s:'.length).split('.')[0] as string;
    return new StoredSession(readModels, createHash('sha256').update(sessionId).digest('hex'));
  }

  /** When it was used last, as far as that is written down; milliseconds since 1970. */
  async lastUsed(): Promise<number> {
    return (await this.#row()).position / 1000;
  }

  /** Makes it one that was last used so long ago. */
  async setBack(ms: number): Promise<void> {
    const row = await this.#row();
    await this.#readModels.remove(MODEL, [row.id], row.position);
    await this.#readModels.save(MODEL, [{ ...row, position: (Date.now() - ms) * 1000 }]);
  }

  /** Makes it one of a sign-in so long ago. */
  async signedInBefore(ms: number): Promise<void> {
    const row = await this.#row();
    const body = { ...row.body, signedInAt: Date.now() - ms };
    await this.#readModels.save(MODEL, [{ ...row, position: row.position + 1, body }]);
  }

  async #row(): Promise<Row> {
    const [row] = await this.#readModels.load(MODEL, [this.#id]);
    if (row === undefined) throw new Error('there is no such session');
    return row;
  }
}

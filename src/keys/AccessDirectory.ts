import { LRUCache } from 'lru-cache';
import type { EventLog } from '../ports/eventLog.ts';
import { ACCESS_STREAM } from '../records/streamNames.ts';
import { type Access, type ApiKey, emptyAccess, evolveAccess, type Workspace } from './access.ts';
import { hashApiKey, looksLikeApiKey } from './apiKey.ts';

const PAGE = 500;
const POLL_MS = 200;
const REMEMBERED_KEYS = 10_000;

/** A key that was found, with its workspace. */
export interface FoundKey {
  key: ApiKey;
  workspace: Workspace;
}

/**
 * All workspaces and keys, in memory, following the access stream: a change made anywhere is seen here within a
 * quarter of a second. While the event log is away the last known state stands.
 */
export class AccessDirectory {
  readonly #eventLog: EventLog;
  readonly #access: Access = emptyAccess();
  /** Raw key to key id, so that a key is hashed once and not with every request. */
  readonly #keyIds = new LRUCache<string, string>({ max: REMEMBERED_KEYS });
  #refreshing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  private constructor(eventLog: EventLog) {
    this.#eventLog = eventLog;
  }

  /** Reads the access stream and begins to follow it. Rejects when the event log is away. */
  static async open(eventLog: EventLog): Promise<AccessDirectory> {
    const directory = new AccessDirectory(eventLog);
    await directory.refresh();
    directory.#timer = setInterval(() => directory.refresh().catch(() => undefined), POLL_MS);
    return directory;
  }

  /** The state as of now, for reading only. */
  get access(): Readonly<Access> {
    return this.#access;
  }

  /** The key of this text and its workspace; undefined when there is none. A key made a moment ago is found. */
  async find(rawKey: string): Promise<FoundKey | undefined> {
    const known = this.#lookUp(rawKey);
    if (known || !looksLikeApiKey(rawKey)) return known;
    await this.refresh();
    return this.#lookUp(rawKey);
  }

  /** Reads what the access stream holds beyond what is known. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#readOn().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #readOn(): Promise<void> {
    for (;;) {
      const events = await this.#eventLog.readStream(ACCESS_STREAM, {
        from: this.#access.revision + 1,
        limit: PAGE,
      });
      for (const event of events) evolveAccess(this.#access, event);
      if (events.length < PAGE) return;
    }
  }

  #lookUp(rawKey: string): FoundKey | undefined {
    let id = this.#keyIds.get(rawKey);
    if (id === undefined) {
      if (!looksLikeApiKey(rawKey)) return undefined;
      id = this.#access.keyIdByHash.get(hashApiKey(rawKey));
      if (id === undefined) return undefined;
      this.#keyIds.set(rawKey, id);
    }
    const key = this.#access.keys.get(id);
    const workspace = key && this.#access.workspaces.get(key.workspace);
    return key && workspace && { key, workspace };
  }
}

import { LRUCache } from 'lru-cache';
import type { NewEvent } from '../../events/event.ts';
import { KEYS_STREAM } from '../../events/streamNames.ts';
import type { EventLog } from '../../ports/eventLog.ts';
import { hashApiKey, looksLikeApiKey } from './apiKey.ts';
import { FollowedStream } from './FollowedStream.ts';
import { type ApiKey, evolveKeys, type KeyState, noKeys, type Workspace } from './keyState.ts';

const REMEMBERED_KEYS = 10_000;

/** A key that was found, with its workspace. */
export interface FoundKey {
  key: ApiKey;
  workspace: Workspace;
}

/**
 * All workspaces and keys, in memory, following the stream of keys: a change made anywhere is seen here within a
 * quarter of a second. While the event log is away the last known state stands.
 */
export class KeyDirectory {
  readonly #stream: FollowedStream<KeyState>;
  /** Raw key to key id, so that a key is hashed once and not with every request. */
  readonly #keyIds = new LRUCache<string, string>({ max: REMEMBERED_KEYS });

  private constructor(stream: FollowedStream<KeyState>) {
    this.#stream = stream;
  }

  /** Reads the stream of keys and begins to follow it. Rejects when the event log is away. */
  static async open(eventLog: EventLog): Promise<KeyDirectory> {
    return new KeyDirectory(await FollowedStream.open(eventLog, KEYS_STREAM, noKeys(), evolveKeys));
  }

  /** The state as of now, for reading only. */
  get known(): Readonly<KeyState> {
    return this.#stream.state;
  }

  /** The key of this text and its workspace; undefined when there is none. A key made a moment ago is found. */
  async find(rawKey: string): Promise<FoundKey | undefined> {
    const known = this.findKnown(rawKey);
    if (known || !looksLikeApiKey(rawKey)) return known;
    await this.refresh();
    return this.findKnown(rawKey);
  }

  /** The same as far as it is known, without asking anybody. */
  findKnown(rawKey: string): FoundKey | undefined {
    let id = this.#keyIds.get(rawKey);
    if (id === undefined) {
      if (!looksLikeApiKey(rawKey)) return undefined;
      id = this.known.keyIdByHash.get(hashApiKey(rawKey));
      if (id === undefined) return undefined;
      this.#keyIds.set(rawKey, id);
    }
    const key = this.known.keys.get(id);
    const workspace = key && this.known.workspaces.get(key.workspace);
    return key && workspace && { key, workspace };
  }

  /** What people call a key, by its id; a deleted one keeps its name. */
  nameOf(keyId: string): string | undefined {
    return this.known.keys.get(keyId)?.name;
  }

  /** The present state of a key that was found before. */
  current({ key, workspace }: FoundKey): FoundKey {
    const { keys, workspaces } = this.known;
    return { key: keys.get(key.id) ?? key, workspace: workspaces.get(workspace.id) ?? workspace };
  }

  /** Reads what the stream of keys holds beyond what is known. */
  refresh(): Promise<void> {
    return this.#stream.refresh();
  }

  /** Changes workspaces and keys by the event that `decide` makes of them (`FollowedStream`). */
  change(decide: (known: Readonly<KeyState>) => NewEvent | undefined): Promise<void> {
    return this.#stream.change(decide);
  }

  close(): void {
    this.#stream.close();
  }
}

import { LRUCache } from 'lru-cache';
import type { NewEvent } from '../../domain/events/event.ts';
import { KEYS_STREAM } from '../../domain/events/streamNames.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { hashApiKey, looksLikeApiKey } from './apiKey.ts';
import { FollowedStream } from './FollowedStream.ts';
import { type ApiKey, evolveKeys, type KeyState, noKeys, type Workspace } from './keyState.ts';

const REMEMBERED_KEYS = 10_000;

/** A key, with its workspace. */
export interface FoundKey {
  key: ApiKey;
  workspace: Workspace;
}

/**
 * All workspaces and keys, kept in memory by following the stream of keys: a change made anywhere is visible here within a
 * quarter of a second. While the event log is unreachable, the last known state applies.
 */
export class KeyDirectory {
  readonly #stream: FollowedStream<KeyState>;
  /** Raw key to key id, so that a key is hashed once and not on every request. */
  readonly #keyIds = new LRUCache<string, string>({ max: REMEMBERED_KEYS });

  private constructor(stream: FollowedStream<KeyState>) {
    this.#stream = stream;
  }

  /** Reads the stream of keys and starts following it. Rejects when the event log is unreachable. */
  static async open(eventLog: EventLog): Promise<KeyDirectory> {
    return new KeyDirectory(await FollowedStream.open(eventLog, KEYS_STREAM, noKeys(), evolveKeys));
  }

  /** The current state, read-only. */
  get known(): Readonly<KeyState> {
    return this.#stream.state;
  }

  /** Returns the key with this text and its workspace; undefined when there is none. Finds keys created a moment ago. */
  async find(rawKey: string): Promise<FoundKey | undefined> {
    const known = this.findKnown(rawKey);
    if (known || !looksLikeApiKey(rawKey)) return known;
    await this.refresh();
    return this.findKnown(rawKey);
  }

  /** The same as `find`, as far as known, without any lookup. */
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

  /** Returns the name of a key, by id; a deleted one keeps its name. */
  nameOf(keyId: string): string | undefined {
    return this.known.keys.get(keyId)?.name;
  }

  /** Returns the current state of a key found earlier. */
  current({ key, workspace }: FoundKey): FoundKey {
    const { keys, workspaces } = this.known;
    return { key: keys.get(key.id) ?? key, workspace: workspaces.get(workspace.id) ?? workspace };
  }

  /** Reads events that were added to the stream of keys. */
  refresh(): Promise<void> {
    return this.#stream.refresh();
  }

  /** Changes workspaces and keys by the event that `decide` derives from them (`FollowedStream`). */
  change(decide: (known: Readonly<KeyState>) => NewEvent | undefined): Promise<void> {
    return this.#stream.change(decide);
  }

  close(): void {
    this.#stream.close();
  }
}

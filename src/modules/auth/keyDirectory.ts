import { LRUCache } from 'lru-cache';
import {
  DamagedEvent,
  type NewEvent,
  type RecordedEvent,
  type ReturnChoice,
} from '../../domain/events/event.ts';
import { KEYS_STREAM, SubjectOwners } from '../../domain/events/streams.ts';
import { ServiceError, UnreadableError, unavailable } from '../../platform/errors.ts';
import { pause } from '../../platform/retry.ts';
import { appendBehind, type EventLog } from '../../storage/eventLog.ts';
import {
  type ApiKey,
  evolveKeys,
  hashApiKey,
  type KeyState,
  looksLikeApiKey,
  noKeys,
  type Workspace,
} from './apiKeys.ts';

const PAGE = 500;
const RETRY_MS = 200;
const GATHER_MS = 200;
const MAX_ATTEMPTS = 20;

/** The fold of a stream's events. */
interface FoldedState {
  /** Revision of the last event folded; -1 before the first. */
  revision: number;
}

/**
 * The fold of a short stream, kept in memory by following the stream: a change made anywhere is visible here within a quarter of
 * a second. While the event log is unreachable, the last known state applies.
 */
export class FollowedStream<State extends FoldedState> {
  /** The current state, read-only. */
  readonly state: State;
  readonly #eventLog: EventLog;
  readonly #stream: string;
  readonly #evolve: (state: State, event: RecordedEvent) => void;
  readonly #owners = new SubjectOwners();
  #reading: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  readonly #closing = new AbortController();
  readonly #listeners = new Set<() => void>();

  private constructor(
    eventLog: EventLog,
    stream: string,
    empty: State,
    evolve: (state: State, event: RecordedEvent) => void,
  ) {
    this.#eventLog = eventLog;
    this.#stream = stream;
    this.state = empty;
    this.#evolve = evolve;
  }

  /**
   * Reads the stream and starts following it; `evolve` folds an event into the state. Rejects with `unavailable`, and with
   * `unreadable`.
   */
  static async open<State extends FoldedState>(
    eventLog: EventLog,
    stream: string,
    empty: State,
    evolve: (state: State, event: RecordedEvent) => void,
  ): Promise<FollowedStream<State>> {
    const followed = new FollowedStream(eventLog, stream, empty, evolve);
    await followed.refresh();
    void followed.#follow();
    return followed;
  }

  /** Reads further; when it resolves, the state includes every event appended before the call. */
  refresh(): Promise<void> {
    if (this.#reading === undefined) {
      this.#reading = this.#readOn().finally(() => {
        this.#reading = undefined;
      });
      return this.#reading;
    }
    // The read under way may already have passed the place of an event just appended.
    this.#next ??= this.#reading
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined;
        return this.refresh();
      });
    return this.#next;
  }

  /**
   * Appends the event that `decide` derives from the whole stream, if no one else appended one in the meantime; otherwise decides
   * again. Appends nothing when `decide` returns undefined. Rejects with what `decide` throws, and with `unavailable`, also when
   * others kept changing the stream.
   */
  async change(decide: (state: State) => NewEvent | undefined): Promise<void> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      await this.refresh();
      const { revision } = this.state;
      const event = decide(this.state);
      if (event === undefined) return;
      if (await appendBehind(this.#eventLog, this.#stream, event, revision)) return this.refresh();
    }
    throw unavailable('event log');
  }

  /** Calls back after the state has changed; returns a function that ends this. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#closing.abort();
  }

  /** Reads on whenever the stream has a new event, until it is closed. */
  async #follow(): Promise<void> {
    const { signal } = this.#closing;
    const filter = { streamPrefixes: [this.#stream] };
    const gather = (until: AbortSignal) => pause(GATHER_MS, until);
    for (; !signal.aborted; await pause(RETRY_MS, signal)) {
      try {
        const after = await this.#eventLog.head();
        await this.refresh();
        for await (const { events, unreadable } of this.#eventLog.follow({ after, filter, gather, signal }))
          if (events.length > 0 || unreadable) await this.refresh();
      } catch {
        // It cannot be read now: the last known state applies.
      }
    }
  }

  async #readOn(): Promise<void> {
    for (;;) {
      const from = this.state.revision + 1;
      const events = await this.#eventLog.readStream(this.#stream, { from, limit: PAGE });
      for (const event of events) this.#fold(event);
      if (events.length > 0) for (const listener of this.#listeners) listener();
      if (events.length < PAGE) return;
    }
  }

  #fold(event: RecordedEvent): void {
    try {
      if (!this.#owners.take(event)) throw new DamagedEvent(event);
      this.#evolve(this.state, event);
    } catch (error) {
      if (error instanceof ServiceError && !(error instanceof DamagedEvent)) throw error;
      const { stream, revision } = event;
      throw new UnreadableError(
        'internal',
        `The event of version ${revision + 1} in the stream ${stream} is damaged. Run \`chartledger verify\` to find out what was changed.`,
        event,
      );
    }
  }
}

const CACHED_KEYS = 10_000;

/** A key, with its workspace. */
export interface FoundKey {
  key: ApiKey;
  workspace: Workspace;
  /** The types of the FHIR resources that its access token may write, if not every type. */
  writableTypes?: ReadonlySet<string>;
}

/**
 * All workspaces and keys, kept in memory by following the stream of keys: a change made anywhere is visible here within a
 * quarter of a second. While the event log is unreachable, the last known state applies.
 */
export class KeyDirectory {
  readonly #stream: FollowedStream<KeyState>;
  /** Raw key to key id, so that a key is hashed once and not on every request. */
  readonly #keyIds = new LRUCache<string, string>({ max: CACHED_KEYS });

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

  /** Returns the keys of a workspace, including deleted ones, in order of creation. */
  keysOf(workspace: string): ApiKey[] {
    return [...this.known.keys.values()].filter((key) => key.workspace === workspace);
  }

  /** Returns the name of a key, by id; a deleted one keeps its name. */
  nameOf(keyId: string): string | undefined {
    return this.known.keys.get(keyId)?.name;
  }

  /** Returns what happens to writes of erased records of a workspace. */
  returnsOf(workspace: string): ReturnChoice {
    return this.known.workspaces.get(workspace)?.returns ?? 'allow';
  }

  /** Returns the current state of a key found earlier. */
  current({ key, workspace }: FoundKey): FoundKey {
    const { keys, workspaces } = this.known;
    return { key: keys.get(key.id) ?? key, workspace: workspaces.get(workspace.id) ?? workspace };
  }

  /** Calls back after a change; returns a function that ends this. */
  onChange(listener: () => void): () => void {
    return this.#stream.onChange(listener);
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

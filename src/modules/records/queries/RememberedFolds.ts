import type { EventLog } from '../../../storage/eventLog.ts';
import { type Evolve, foldStream } from './foldStream.ts';

/** How long a reading counts as current. */
const FRESH_MS = 1_000;

interface Remembered<State> {
  state: State | undefined;
  /** When the last successful reading began, and when the last attempt did. */
  readAt: number;
  triedAt: number;
  reading: Promise<State | undefined> | undefined;
}

/** The folds of one stream per workspace, read on when asked for after a second has passed. */
export class RememberedFolds<State extends { version: number }> {
  readonly #eventLog: EventLog;
  readonly #streamOf: (workspace: string) => string;
  readonly #evolve: Evolve<State>;
  readonly #remembered = new Map<string, Remembered<State>>();

  /** `evolve` must not change the state it is given. */
  constructor(eventLog: EventLog, streamOf: (workspace: string) => string, evolve: Evolve<State>) {
    this.#eventLog = eventLog;
    this.#streamOf = streamOf;
    this.#evolve = evolve;
  }

  /**
   * For callers that do not wait for a store: returns the state as last read, undefined before the first reading; a
   * state older than a second is read on for later callers. Where it cannot be read, the known state stands.
   */
  known(workspace: string): State | undefined {
    const remembered = this.#of(workspace);
    if (!isFresh(remembered.triedAt)) this.#read(workspace, remembered).catch(() => undefined);
    return remembered.state;
  }

  /**
   * For callers that can wait: resolves with the state as of at most a second before the call, or as of when the
   * reading then under way began; undefined when the stream was empty. Rejects with `unavailable` and `unreadable`.
   */
  async current(workspace: string): Promise<State | undefined> {
    const remembered = this.#of(workspace);
    return isFresh(remembered.readAt) ? remembered.state : this.#read(workspace, remembered);
  }

  #of(workspace: string): Remembered<State> {
    let remembered = this.#remembered.get(workspace);
    if (remembered === undefined) {
      remembered = { state: undefined, readAt: -Infinity, triedAt: -Infinity, reading: undefined };
      this.#remembered.set(workspace, remembered);
    }
    return remembered;
  }

  /** Only one reading runs at a time. */
  #read(workspace: string, remembered: Remembered<State>): Promise<State | undefined> {
    remembered.reading ??= this.#readOn(workspace, remembered).finally(() => {
      remembered.reading = undefined;
    });
    return remembered.reading;
  }

  async #readOn(workspace: string, remembered: Remembered<State>): Promise<State | undefined> {
    const begun = performance.now();
    remembered.triedAt = begun;
    const { state } = remembered;
    remembered.state = await foldStream(this.#eventLog, this.#streamOf(workspace), this.#evolve, { state });
    remembered.readAt = begun;
    return remembered.state;
  }
}

function isFresh(since: number): boolean {
  return performance.now() - since <= FRESH_MS;
}

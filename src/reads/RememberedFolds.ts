import type { EventLog } from '../ports/eventLog.ts';
import { type Evolve, foldStream } from './foldStream.ts';

/** For so long what was read is taken for the present. */
const FRESH_MS = 1_000;

interface Remembered<State> {
  state: State | undefined;
  /** When the last reading that came through began, and the last one at all. */
  readAt: number;
  triedAt: number;
  reading: Promise<State | undefined> | undefined;
}

/** What a stream of each workspace was folded into, read on when it is asked for and a second has passed. */
export class RememberedFolds<State extends { version: number }> {
  readonly #eventLog: EventLog;
  readonly #streamOf: (workspace: string) => string;
  readonly #evolve: Evolve<State>;
  readonly #remembered = new Map<string, Remembered<State>>();

  /** `evolve` leaves the state before as it is. */
  constructor(eventLog: EventLog, streamOf: (workspace: string) => string, evolve: Evolve<State>) {
    this.#eventLog = eventLog;
    this.#streamOf = streamOf;
    this.#evolve = evolve;
  }

  /**
   * For those who wait for no store: as last read, undefined before; what is older than a second is read on for those who ask next.
   * Where it cannot be read, what is known stands.
   */
  known(workspace: string): State | undefined {
    const remembered = this.#of(workspace);
    if (!isFresh(remembered.triedAt)) this.#read(workspace, remembered).catch(() => undefined);
    return remembered.state;
  }

  /**
   * For those who wait: as of a second before the call at the earliest, or of when the reading began that was under way then; undefined
   * when the stream was empty. Rejects with `unavailable` and `unreadable`.
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

  /** One reading at a time. */
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

import { ServiceError, UnreadableError, unavailable } from '../../errors.ts';
import type { NewEvent, RecordedEvent } from '../../events/event.ts';
import { appendBehind } from '../../ports/appendBehind.ts';
import type { EventLog } from '../../ports/eventLog.ts';

const PAGE = 500;
const POLL_MS = 200;
const MAX_ATTEMPTS = 20;

/** What a stream's events were folded into. */
export interface FoldedState {
  /** Revision of the last event folded; -1 before the first. */
  revision: number;
}

/**
 * The state that a short stream's events make, in memory, following the stream: a change made anywhere is seen here
 * within a quarter of a second. While the event log is away the last known state stands.
 */
export class FollowedStream<State extends FoldedState> {
  /** As of now, for reading only. */
  readonly state: State;
  readonly #eventLog: EventLog;
  readonly #stream: string;
  readonly #evolve: (state: State, event: RecordedEvent) => void;
  #reading: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

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

  /** Reads the stream and begins to follow it; `evolve` folds an event into the state. Rejects with `unavailable`, and with `unreadable`. */
  static async open<State extends FoldedState>(
    eventLog: EventLog,
    stream: string,
    empty: State,
    evolve: (state: State, event: RecordedEvent) => void,
  ): Promise<FollowedStream<State>> {
    const followed = new FollowedStream(eventLog, stream, empty, evolve);
    await followed.refresh();
    followed.#timer = setInterval(() => {
      if (followed.#reading === undefined) followed.refresh().catch(() => undefined);
    }, POLL_MS);
    return followed;
  }

  /** Reads on; when it resolves, every event that was appended before the call is in the state. */
  refresh(): Promise<void> {
    if (this.#reading === undefined) {
      this.#reading = this.#readOn().finally(() => {
        this.#reading = undefined;
      });
      return this.#reading;
    }
    // The one under way may have passed the place already where an event was just appended.
    this.#next ??= this.#reading
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined;
        return this.refresh();
      });
    return this.#next;
  }

  /**
   * Appends the event that `decide` makes of the whole stream, if nobody appended another meanwhile; otherwise it is
   * decided again. Without an event nothing is appended. Rejects with what `decide` throws, and
   * with `unavailable`, also when others changed it again and again.
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

  close(): void {
    clearInterval(this.#timer);
  }

  async #readOn(): Promise<void> {
    for (;;) {
      const from = this.state.revision + 1;
      const events = await this.#eventLog.readStream(this.#stream, { from, limit: PAGE });
      for (const event of events) this.#fold(event);
      if (events.length < PAGE) return;
    }
  }

  #fold(event: RecordedEvent): void {
    try {
      this.#evolve(this.state, event);
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      const { stream, revision } = event;
      throw new UnreadableError(
        `The event of version ${revision + 1} in the stream ${stream} is damaged. Run \`chartledger verify\` to find out what was changed.`,
      );
    }
  }
}

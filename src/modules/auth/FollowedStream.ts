import { DamagedEvent } from '../../domain/events/DamagedEvent.ts';
import type { NewEvent, RecordedEvent } from '../../domain/events/event.ts';
import { SubjectOwners } from '../../domain/events/SubjectOwners.ts';
import { ServiceError, UnreadableError, unavailable } from '../../platform/errors.ts';
import { appendBehind } from '../../storage/appendBehind.ts';
import type { EventLog } from '../../storage/eventLog.ts';

const PAGE = 500;
const POLL_MS = 200;
const MAX_ATTEMPTS = 20;

/** The fold of a stream's events. */
export interface FoldedState {
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
    followed.#timer = setInterval(() => {
      if (followed.#reading === undefined) followed.refresh().catch(() => undefined);
    }, POLL_MS);
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

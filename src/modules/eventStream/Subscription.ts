import type { Position } from '../../domain/events/event.ts';
import type { ThreadReader } from './FeedThread.ts';
import type { LiveWindow } from './LiveWindow.ts';
import type { Chunk, Part } from './threadMessages.ts';

/** Where a subscription's events come from. */
export interface SubscriptionSource {
  /** What is appended from now on. */
  window: LiveWindow;
  /** Starts reading the log. */
  open(start: Start): ThreadReader;
  /** Aborts when nothing more will come. */
  ended: AbortSignal;
  leave(): void;
}

/** Where to begin: after a position, with the first event there recorded at or after `from`. */
export interface Start {
  after: Position;
  /** Milliseconds since 1970. */
  from?: number | undefined;
}

/**
 * One subscriber's progress along the log, as fast as it takes the chunks: reads the log up to where the window continues, then
 * takes from the window, and reads the log again whenever it falls behind that.
 */
export class Subscription {
  readonly #enter: (signal: AbortSignal) => Promise<SubscriptionSource | undefined>;
  readonly #start: Start;
  #window: LiveWindow | undefined;
  #position: Position;
  #begun: boolean;
  #waiting = false;

  /** `enter`: returns the source when it is ready; undefined when the signal aborts first. */
  constructor(enter: (signal: AbortSignal) => Promise<SubscriptionSource | undefined>, start: Start) {
    this.#enter = enter;
    this.#start = start;
    this.#position = start.after;
    this.#begun = start.from === undefined;
  }

  /** All events up to here were handed out: resume after it. Undefined while the first event is still being searched for. */
  get position(): Position | undefined {
    if (!this.#begun) return undefined;
    return this.#waiting ? Math.max(this.#position, this.#window?.position ?? 0) : this.#position;
  }

  /** Yields the events, until the signal or the end of the feed; rejects with `unavailable`. Must be called only once. */
  async *chunks(asked: AbortSignal): AsyncGenerator<Chunk> {
    const source = await this.#enter(asked);
    if (source === undefined) return;
    const { window, ended } = source;
    this.#window = window;
    const signal = AbortSignal.any([asked, ended]);
    const wake = () => window.wake();
    signal.addEventListener('abort', wake, { once: true });
    try {
      while (!signal.aborted) {
        const chunk = this.#begun ? window.next(this.#position) : 'behind';
        if (chunk === 'behind') {
          yield* this.#catchUp(source, signal);
        } else if (chunk) {
          this.#position = chunk.position;
          yield chunk;
        } else {
          this.#waiting = true;
          await window.wait();
          this.#waiting = false;
        }
      }
    } finally {
      signal.removeEventListener('abort', wake);
      source.leave();
    }
  }

  async *#catchUp(source: SubscriptionSource, signal: AbortSignal): AsyncGenerator<Chunk> {
    const reader = source.open({ after: this.#position, from: this.#begun ? undefined : this.#start.from });
    const close = () => reader.close();
    signal.addEventListener('abort', close, { once: true });
    try {
      let next = this.#read(reader, signal);
      for (let end = false; !end; ) {
        const part = await next;
        if (part === undefined) return;
        end = part.end;
        // The thread reads ahead while this part is being sent.
        if (!end) next = this.#read(reader, signal);
        this.#position = part.position;
        this.#begun ||= part.count > 0 || end;
        if (part.count > 0) yield part;
      }
    } finally {
      signal.removeEventListener('abort', close);
      reader.close();
    }
  }

  /** Undefined when it was ended. */
  #read(reader: ThreadReader, signal: AbortSignal): Promise<Part | undefined> {
    const reading = reader.read(Number.POSITIVE_INFINITY, true).catch((error) => {
      if (signal.aborted) return undefined;
      throw error;
    });
    reading.catch(() => undefined);
    return reading;
  }
}

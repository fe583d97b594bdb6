import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import { unavailable } from '../../platform/errors.ts';
import { untilAvailable } from '../../platform/untilAvailable.ts';
import type { EventBatch, EventLog } from '../../storage/eventLog.ts';
import { feedLogTypes, selectedAs } from './cloudEvent.ts';
import { ChunkText, type FeedText } from './FeedText.ts';
import { logFilter, type Selection } from './selection.ts';
import type { Part } from './threadMessages.ts';

/** How long a batch is kept for a reader that does not ask for the rest of it; it is then read again. */
const KEPT_MS = 1_000;

/** Converts events in the stream to text. */
export type MakeText = (events: RecordedEvent[]) => Promise<FeedText>;

interface Pending {
  text: FeedText;
  /** Index of the next event in `text`. */
  next: number;
  batch: EventBatch;
}

/** One reader's progress through the log: reads further when asked, and holds at most one batch, for as long as it keeps asking. */
export class CatchUp {
  readonly #selection: Selection;
  readonly #wanted: Set<string>;
  readonly #makeText: MakeText;
  readonly #eventLog: EventLog;
  readonly #stop = new AbortController();
  #batches: AsyncIterator<EventBatch> | undefined;
  #idle: NodeJS.Timeout | undefined;
  #position: Position;
  /** Milliseconds since 1970: events are skipped until the first one recorded then or later. */
  #from: number | undefined;
  #pending: Pending | undefined;

  constructor(
    eventLog: EventLog,
    makeText: MakeText,
    selection: Selection,
    start: { after: Position; from: number | undefined },
  ) {
    this.#selection = selection;
    this.#wanted = new Set(selection.eventTypes);
    this.#makeText = makeText;
    this.#position = start.after;
    this.#from = start.from;
    this.#eventLog = eventLog;
  }

  /**
   * Returns the next part, of at most `limit` events. With `tail` it ends at the position that the tail has by then; without,
   * when nothing is known to lie beyond. Rejects with `unavailable`, and with `unreadable` at an event that only a newer version
   * of the service can read.
   */
  async next(limit: number, tail?: () => Position): Promise<Part> {
    clearTimeout(this.#idle);
    try {
      return await this.#next(limit, tail);
    } finally {
      if (!this.#stop.signal.aborted) this.#idle = setTimeout(() => void this.#rest(), KEPT_MS);
    }
  }

  async close(): Promise<void> {
    this.#stop.abort();
    clearTimeout(this.#idle);
    await this.#rest();
  }

  async #next(limit: number, tail: (() => Position) | undefined): Promise<Part> {
    if (tail && this.#position >= tail())
      return this.#part(new ChunkText(this.#selection), this.#position, true);
    this.#pending ??= await this.#read();
    const bound = tail?.() ?? Number.POSITIVE_INFINITY;
    const { text, batch } = this.#pending;
    const chunk = new ChunkText(this.#selection);
    let at = this.#position;
    for (; this.#pending.next < text.events.length; this.#pending.next += 1) {
      const event = text.events[this.#pending.next] as RecordedEvent;
      const { position } = event;
      if (position > bound) break;
      if (chunk.full || chunk.count === limit) return this.#part(chunk, at, false);
      if (this.#wanted.has(selectedAs(event))) {
        const problem = text.problem(this.#pending.next);
        if (problem === undefined) chunk.add(text, this.#pending.next);
        else if (problem !== 'lost') {
          if (at === this.#position) throw problem;
          return this.#part(chunk, at, false);
        }
      }
      at = position;
    }
    if (batch.position >= bound) return this.#part(chunk, bound, true);
    this.#pending = undefined;
    return this.#part(chunk, batch.position, tail === undefined && batch.caughtUp);
  }

  /** Lets go of what was read beyond the position, until the reader asks again. */
  async #rest(): Promise<void> {
    const batches = this.#batches;
    this.#batches = undefined;
    this.#pending = undefined;
    await batches?.return?.();
  }

  #part(chunk: ChunkText, position: Position, end: boolean): Part {
    this.#position = position;
    return { ...chunk.end(position), end };
  }

  async #read(): Promise<Pending> {
    const { signal } = this.#stop;
    const options = { after: this.#position, filter: logFilter(this.#selection), signal };
    this.#batches ??= this.#eventLog.follow(options)[Symbol.asyncIterator]();
    const { value: batch, done } = await this.#batches.next();
    if (done) throw unavailable('event log');
    // A workspace's streams include its audit trail.
    const events = this.#since(batch.events.filter(({ type }) => feedLogTypes.has(type)));
    // A store that is briefly unavailable does not end a stream.
    const text = await untilAvailable(() => this.#makeText(events), this.#stop.signal);
    if (text === undefined) throw unavailable('event log');
    return { text, next: 0, batch };
  }

  #since(events: RecordedEvent[]): RecordedEvent[] {
    if (this.#from === undefined) return events;
    const from = this.#from;
    const first = events.findIndex(({ recordedAt }) => Date.parse(recordedAt) >= from);
    if (first === -1) return [];
    this.#from = undefined;
    return events.slice(first);
  }
}

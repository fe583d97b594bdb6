import type { Position } from '../../../domain/events/event.ts';
import type { Erasures } from './Erasures.ts';
import type { Inbox } from './Inbox.ts';
import type { LogReader } from './LogReader.ts';
import type { LogEntry } from './recordedEvent.ts';
import { streamNames, userStreams } from './streamFilters.ts';
import { subscribe } from './subscribe.ts';

/** Number of entries kept, so that a follower that has almost caught up finds no gap. */
const REMEMBERED = 1_000;

/**
 * The growing end of the log, for all followers of a process: a single subscription without a filter, because only then does
 * every follower learn at once how far the log is, even when nothing that it wants was appended. It runs while there are
 * followers. When it fails, so do the inboxes that joined, and the next follower restarts it.
 */
export class LiveTail {
  readonly #reader: LogReader;
  readonly #erasures: Erasures;
  readonly #inboxes = new Set<Inbox>();
  #followers = 0;
  #recent: LogEntry[] = [];
  /** Everything after it is in `#recent` or yet to come; undefined while not subscribed. */
  #from: Position | undefined;
  #starting: Promise<void> | undefined;
  #giveUp: (error: unknown) => void = () => undefined;

  /** `erasures` is notified of every removal seen here. */
  constructor(reader: LogReader, erasures: Erasures) {
    this.#reader = reader;
    this.#erasures = erasures;
  }

  enter(): void {
    this.#followers += 1;
  }

  leave(): void {
    this.#followers -= 1;
    if (this.#followers === 0) this.#stop(new Error('no followers'));
  }

  /** Resolves when it is subscribed; rejects when that fails. */
  started(): Promise<void> {
    if (this.#starting) return this.#starting;
    const starting = this.#start();
    this.#starting = starting;
    starting.catch(() => {
      if (this.#starting === starting) this.#starting = undefined;
    });
    return starting;
  }

  /** The end of the log, as known here; 0 while not subscribed. */
  get position(): Position {
    return this.#recent.at(-1)?.position ?? this.#from ?? 0;
  }

  /** Whether a follower that has everything up to this position misses nothing by joining. */
  covers(position: Position): boolean {
    return this.#from !== undefined && position >= this.#from;
  }

  /** Pushes the kept entries beyond the inbox's position, and from then on every entry. */
  join(inbox: Inbox): void {
    this.#inboxes.add(inbox);
    inbox.atEnd(() => this.#inboxes.delete(inbox));
    for (const entry of this.#recent) inbox.push(entry);
  }

  async #start(): Promise<void> {
    const confirmed = Promise.withResolvers<void>();
    const givenUp = Promise.withResolvers<never>();
    this.#giveUp = givenUp.reject;
    const from = await Promise.race([this.#reader.lastPosition(), givenUp.promise]);
    this.#from = from;
    const unsubscribe = subscribe(this.#reader.client, from, streamNames(userStreams), {
      confirmed: confirmed.resolve,
      entry: (entry) => this.#take(entry),
      ended: (error) => this.#stop(error),
    });
    this.#giveUp = (error) => {
      unsubscribe();
      givenUp.reject(error);
    };
    await Promise.race([confirmed.promise, givenUp.promise]);
  }

  #take(entry: LogEntry): void {
    if (entry.erasure) this.#erasures.add(entry.erasure);
    this.#recent.push(entry);
    if (this.#recent.length >= 2 * REMEMBERED) {
      const forgotten = this.#recent.splice(0, REMEMBERED);
      this.#from = (forgotten.at(-1) as LogEntry).position;
    }
    for (const inbox of this.#inboxes) inbox.push(entry);
  }

  #stop(error: unknown): void {
    this.#giveUp(error);
    this.#starting = undefined;
    this.#from = undefined;
    this.#recent = [];
    for (const inbox of this.#inboxes) inbox.end(error);
  }
}

import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import type { Position } from '../../domain/events/event.ts';
import type { NarrowedView } from '../../domain/records/schema/deidentification.ts';
import { UnreadableError, unavailable } from '../../platform/errors.ts';
import type { Selection } from './cloudEvents.ts';
import type { Deidentifier, PseudonymKey } from './deidentification.ts';
import { type LiveBuffer, lazyDeidentifier } from './reader.ts';
import { EventStreamThread, type Start, Subscription, type SubscriptionSource } from './subscription.ts';

/** A page ends early when it reaches this many bytes, as it is in memory until its reader has it. */
export const PAGE_BYTES = 4 * 1024 * 1024;
/** What a subscription holds in memory that nobody reads: what is being sent, what was read ahead, and a part of its window. */
export const SUBSCRIPTION_BYTES = 1024 * 1024;
/** Longest wait for the next events of a log that is reachable. */
const READ_TIMEOUT_MS = 3_000;

/** A limited number of events. */
interface EventStreamPage {
  chunks: Uint8Array[];
  count: number;
  /** Position of its first event; undefined if it is empty. */
  first: Position | undefined;
  /** Everything wanted up to here is in the page or in earlier ones: continue after it. */
  position: Position;
}

/** How often to check whether the key of the de-identified view was changed. */
const KEY_CHECK_MS = 1_000;

interface SharedWindow {
  opened: Promise<{ window: LiveBuffer; end(): void }>;
  users: number;
}

/**
 * The event stream of a process. One thread reads and formats for all subscribers, and runs one tail of the log while there are
 * any; equal selections share their bytes.
 */
export class EventStream {
  readonly #startThread: () => Worker;
  readonly #pseudonymKey: () => Promise<PseudonymKey>;
  readonly #windows = new Map<string, SharedWindow>();
  readonly #closing = new AbortController();
  #thread: EventStreamThread | undefined;
  #pseudonyms: { key: PseudonymKey; deidentifierOf: (view: NarrowedView) => Deidentifier } | undefined;
  /** The key known to the thread. */
  #threadKey: PseudonymKey | undefined;
  #keyChecks: NodeJS.Timeout | undefined;

  /**
   * `startThread`: starts the thread on the first read; `pseudonymKey`: returns the key of the de-identified view, called while
   * that view is being read.
   */
  constructor(startThread: () => Worker, pseudonymKey: () => Promise<PseudonymKey>) {
    this.#startThread = startThread;
    this.#pseudonymKey = pseudonymKey;
  }

  /** Yields every event of a selection from `start` on, live once it has caught up. */
  subscribe(selection: Selection, start: Start): Subscription {
    return new Subscription((signal) => this.#enter(selection, signal), start);
  }

  /**
   * Returns the next events, at most `limit`, in log order; none when nothing is known to lie beyond. The signal and the end of
   * the feed end it early. Rejects with `unavailable`, and with `unreadable` when only a newer version of the service can read
   * the first one.
   */
  async page(
    selection: Selection,
    start: Start,
    limit: number,
    signal: AbortSignal,
  ): Promise<EventStreamPage> {
    const thread = await this.#threadFor(selection);
    const reader = thread.open(selection, start.after, start.from);
    const close = () => reader.close();
    signal.addEventListener('abort', close, { once: true });
    const page: EventStreamPage = { chunks: [], count: 0, first: undefined, position: start.after };
    try {
      await thread.ready;
      for (let bytes = 0; page.count < limit && bytes < PAGE_BYTES; ) {
        const part = await withinTime(reader.read(limit - page.count, false));
        if (part.count > 0) {
          page.chunks.push(part.bytes);
          page.first ??= part.first;
        }
        page.count += part.count;
        page.position = part.position;
        bytes += part.bytes.length;
        if (part.end) break;
      }
      return page;
    } catch (error) {
      // If the first event has not been found yet, there is no position to continue after.
      const begun = start.from === undefined || page.count > 0;
      if (signal.aborted || (this.#closing.signal.aborted && begun)) return page;
      if (error instanceof UnreadableError && page.count > 0) return page;
      throw error;
    } finally {
      signal.removeEventListener('abort', close);
      reader.close();
    }
  }

  /**
   * Returns a page as `page` does, but waits up to `waitMs` for one that is not empty; returns an empty one after that, or when
   * the signal aborts or the feed is closed in the meantime.
   */
  async poll(
    selection: Selection,
    start: Start,
    limit: number,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<EventStreamPage> {
    const page = await this.page(selection, start, limit, signal);
    if (page.count > 0 || waitMs === 0) return page;
    const subscription = this.subscribe(selection, { after: page.position });
    for await (const _ of subscription.chunks(AbortSignal.any([signal, AbortSignal.timeout(waitMs)]))) {
      return this.page(selection, { after: page.position }, limit, signal);
    }
    return { ...page, position: subscription.position ?? page.position };
  }

  /** Returns what creates a view, for data shown beside the stream that have to join with it. */
  async deidentifier(view: NarrowedView): Promise<Deidentifier> {
    const key = await this.#pseudonymKey();
    if (this.#pseudonyms?.key.epoch !== key.epoch)
      this.#pseudonyms = { key, deidentifierOf: lazyDeidentifier(key) };
    return this.#pseudonyms.deidentifierOf(view);
  }

  /** Ends all subscriptions, then the thread. Later requests are refused as `unavailable`. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearInterval(this.#keyChecks);
    await this.#thread?.close();
  }

  async #enter(selection: Selection, asked: AbortSignal): Promise<SubscriptionSource | undefined> {
    if (this.#closing.signal.aborted) return undefined;
    const thread = await this.#threadFor(selection);
    const shared = this.#share(thread, selection);
    const leave = () => this.#unshare(selection, shared);
    try {
      const { window } = await unlessAborted(shared.opened, asked);
      const open = ({ after, from }: Start) => thread.open(selection, after, from);
      return { window, open, ended: thread.failed, leave };
    } catch (error) {
      leave();
      if (asked.aborted || this.#closing.signal.aborted) return undefined;
      throw error;
    }
  }

  async #threadFor({ view }: Selection): Promise<EventStreamThread> {
    const key = view === 'full' ? undefined : await this.#pseudonymKey();
    if (this.#closing.signal.aborted) throw unavailable('event log');
    if (this.#thread === undefined || this.#thread.failed.aborted || this.#isOutdated(key)) {
      void this.#thread?.close();
      this.#thread = new EventStreamThread(this.#startThread);
      this.#windows.clear();
      this.#threadKey = undefined;
    }
    if (key && this.#threadKey === undefined) {
      this.#threadKey = key;
      this.#thread.deidentifyWith(key);
      this.#keyChecks ??= setInterval(() => this.#checkKey(), KEY_CHECK_MS).unref();
    }
    return this.#thread;
  }

  /** Ends live subscriptions when the key of the de-identified view was changed: readers that continue use the new one. */
  async #checkKey(): Promise<void> {
    // If the key cannot be read now, it is next time; until then events name the epoch of the hashes they contain.
    const key = await this.#pseudonymKey().catch(() => undefined);
    if (this.#isOutdated(key) && !this.#closing.signal.aborted) await this.#thread?.close();
  }

  /** Whether the thread knows another key; one that only reads the full view knows none. */
  #isOutdated(key: PseudonymKey | undefined): boolean {
    return key !== undefined && this.#threadKey !== undefined && key.epoch !== this.#threadKey.epoch;
  }

  #share(thread: EventStreamThread, selection: Selection): SharedWindow {
    const key = JSON.stringify(selection);
    let shared = this.#windows.get(key);
    if (shared === undefined) {
      shared = { opened: thread.tail(selection), users: 0 };
      shared.opened.catch(() => undefined);
      this.#windows.set(key, shared);
    }
    shared.users += 1;
    return shared;
  }

  #unshare(selection: Selection, shared: SharedWindow): void {
    shared.users -= 1;
    if (shared.users > 0) return;
    const key = JSON.stringify(selection);
    if (this.#windows.get(key) === shared) this.#windows.delete(key);
    shared.opened.then(({ end }) => end()).catch(() => undefined);
  }
}

/** Returns the promise's result; rejects when the signal aborts first. */
async function unlessAborted<Result>(promise: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const settled = new AbortController();
  const aborted = once(signal, 'abort', { signal: settled.signal }).then(() => {
    throw signal.reason;
  });
  try {
    signal.throwIfAborted();
    return await Promise.race([promise, aborted]);
  } finally {
    aborted.catch(() => undefined);
    settled.abort();
  }
}

async function withinTime<Result>(promise: Promise<Result>): Promise<Result> {
  const settled = new AbortController();
  const late = sleep(READ_TIMEOUT_MS, undefined, { signal: settled.signal }).then(() => {
    throw unavailable('event log');
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([promise, late]);
  } finally {
    settled.abort();
  }
}

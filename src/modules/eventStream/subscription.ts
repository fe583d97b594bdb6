import type { Worker } from 'node:worker_threads';
import type { Position } from '../../domain/events/event.ts';
import { ServiceError, UnreadableError, unavailable } from '../../platform/errors.ts';
import type { Selection } from './cloudEvents.ts';
import type { PseudonymKey } from './deidentification.ts';
import {
  type Chunk,
  type EventStreamRefusal,
  type EventStreamReply,
  type EventStreamRequest,
  LiveBuffer,
  type Part,
} from './reader.ts';

/** A reader of the log in the thread. */
interface ThreadReader {
  /**
   * Returns the next part, of at most `limit` events; `upToTail`: it ends where the tail continues. Rejects with `unavailable`,
   * also when the reader was closed, and with `unreadable`.
   */
  read(limit: number, upToTail: boolean): Promise<Part>;
  close(): void;
}

interface Waiting<Result> {
  resolve(result: Result): void;
  reject(error: Error): void;
}

/** The thread that reads events and converts them to text, so that no request waits for that. It is started once. */
export class EventStreamThread {
  readonly #worker: Worker;
  readonly #reads = new Map<number, Waiting<Part>>();
  readonly #joining = new Map<number, Waiting<LiveBuffer>>();
  readonly #windows = new Map<number, LiveBuffer>();
  readonly #failed = new AbortController();
  readonly #ready = Promise.withResolvers<void>();
  #last = 0;

  /** `start`: starts the thread, which uses the messages in `threadMessages.ts`. */
  constructor(start: () => Worker) {
    this.#worker = start();
    this.#ready.promise.catch(() => undefined);
    this.#worker.on('message', (reply: EventStreamReply) => this.#take(reply));
    this.#worker.on('error', (error) => this.#fail(error));
    this.#worker.on('exit', () => this.#fail());
  }

  /** Resolves when the thread is reading the log; rejects with `unavailable`. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** Aborts when the thread is gone, or can no longer report what is appended. */
  get failed(): AbortSignal {
    return this.#failed.signal;
  }

  /** Sets the key of the de-identified view, which must be known before that view is requested. */
  deidentifyWith(key: PseudonymKey): void {
    this.#send({ kind: 'pseudonyms', key });
  }

  open(selection: Selection, after: Position, from: number | undefined): ThreadReader {
    const reader = this.#next();
    this.#send({ kind: 'open', reader, selection, after, from });
    return {
      read: (limit, upToTail) => {
        if (this.#failed.signal.aborted) return Promise.reject(unavailable('event log'));
        const { promise, ...waiting } = Promise.withResolvers<Part>();
        this.#reads.set(reader, waiting);
        this.#send({ kind: 'read', reader, limit, upToTail });
        return promise;
      },
      close: () => {
        this.#settleRead(reader)?.reject(unavailable('event log'));
        this.#send({ kind: 'close', reader });
      },
    };
  }

  /** Resolves with a window of what is appended to a selection from now on, and a function that ends it. */
  async tail(selection: Selection): Promise<{ window: LiveBuffer; end(): void }> {
    if (this.#failed.signal.aborted) throw unavailable('event log');
    const tail = this.#next();
    const { promise, ...waiting } = Promise.withResolvers<LiveBuffer>();
    this.#joining.set(tail, waiting);
    this.#send({ kind: 'tail', tail, selection });
    const end = () => {
      this.#windows.delete(tail);
      this.#send({ kind: 'untail', tail });
    };
    return { window: await promise, end };
  }

  async close(): Promise<void> {
    this.#fail();
    if (this.#worker.threadId === -1) return;
    const exited = new Promise((resolve) => this.#worker.once('exit', resolve));
    this.#send({ kind: 'stop' });
    await exited;
  }

  #next(): number {
    this.#last += 1;
    return this.#last;
  }

  #send(request: EventStreamRequest): void {
    this.#worker.postMessage(request);
  }

  #settleRead(reader: number): Waiting<Part> | undefined {
    const waiting = this.#reads.get(reader);
    this.#reads.delete(reader);
    return waiting;
  }

  #take(reply: EventStreamReply): void {
    switch (reply.kind) {
      case 'ready':
        this.#ready.resolve();
        break;
      case 'part':
        this.#settleRead(reply.reader)?.resolve(reply.part);
        break;
      case 'failed':
        this.#settleRead(reply.reader)?.reject(errorOf(reply.refusal));
        break;
      case 'tailing': {
        const window = new LiveBuffer(reply.position);
        this.#windows.set(reply.tail, window);
        this.#joining.get(reply.tail)?.resolve(window);
        this.#joining.delete(reply.tail);
        break;
      }
      case 'appended':
        for (const [tail, window] of this.#windows)
          window.push(reply.chunks.get(tail) ?? [], reply.position, this.#windows.size);
        // What was erased may have come with its tombstone.
        for (const tail of reply.erased) this.#windows.get(tail)?.forget();
        for (const tail of reply.stopped) this.#windows.get(tail)?.stop();
        break;
      case 'tailFailed':
        this.#fail();
        break;
    }
  }

  #fail(cause?: unknown): void {
    this.#failed.abort();
    this.#ready.reject(unavailable('event log', cause));
    const waiting = [...this.#reads.values(), ...this.#joining.values()];
    this.#reads.clear();
    this.#joining.clear();
    for (const { reject } of waiting) reject(unavailable('event log', cause));
    for (const window of this.#windows.values()) window.wake();
    this.#windows.clear();
  }
}

function errorOf(refusal: EventStreamRefusal | undefined): ServiceError {
  if (refusal === undefined) return unavailable('event log');
  const { code, message, problem } = refusal;
  return code === 'unreadable'
    ? new UnreadableError(code, message)
    : new ServiceError(code, message, { problem });
}

/** Where a subscription's events come from. */
export interface SubscriptionSource {
  /** What is appended from now on. */
  window: LiveBuffer;
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
  #window: LiveBuffer | undefined;
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

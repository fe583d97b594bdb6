import { once } from 'node:events';
import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { workerUrl } from '../../../platform/threads/workerUrl.ts';
import type { WriterLink } from '../../eventLog.ts';
import type { WriterMessage, WriterRequest, WriterThreadMessage } from './protocol.ts';

/** Number of consecutive commits of a single append, with nothing waiting behind it. */
const LONE_COMMITS = 3;
/** Maximum average duration of commits, in milliseconds. */
const FAST_MS = 1;
/** The weight of the latest commit in the average, and its maximum value there: a slow one is soon made up for. */
const SHARE = 0.2;
const MOST_MS = 10;

/** Tells when appends come one by one and commits are so fast that the caller's thread had better wait than be woken. */
export class LowConcurrencyDetector {
  #commits = 0;
  #averageMs = FAST_MS;

  /** Records a commit: how long it took, and whether it was of one append with nothing else to do. */
  committed(ms: number, isLone: boolean): void {
    this.#commits = isLone ? this.#commits + 1 : 0;
    if (isLone) this.#averageMs += SHARE * (Math.min(ms, MOST_MS) - this.#averageMs);
  }

  /** Whether the next append will probably be alone, and committed soon. */
  get isLikely(): boolean {
    return this.#commits >= LONE_COMMITS && this.#averageMs < FAST_MS;
  }
}

interface ConnectionEvents {
  answer(message: WriterMessage): void;
  /** The writer is gone, because of a failure or because it was told to close. */
  end(error: Error | undefined): void;
}

/** How a thread reaches the writer of a log. */
export interface WriterSource {
  /** Connects to it, starting it if need be. Rejects when the file cannot be opened. */
  connect(): Promise<WriterConnection>;
  /** Returns a link to it for another thread; rejects as `connect` does. */
  link(): Promise<WriterLink>;
  /** Ends what was started here. */
  close(): Promise<void>;
}

/** Returns the source of a writer reached by links: another thread's. */
export function linkedWriter(link: () => Promise<WriterLink>): WriterSource {
  return { connect: async () => new WriterConnection(await link()), link, close: async () => undefined };
}

/** One thread's connection to the writer of an event log's file. Requests are answered in order. */
export class WriterConnection {
  readonly #link: WriterLink;
  readonly #thread: WriterThread | undefined;
  #answer: ConnectionEvents['answer'] = () => undefined;

  /** `thread`: the writer, if started by the calling thread, which then learns more about its end. */
  constructor(link: WriterLink, thread?: WriterThread) {
    this.#link = link;
    this.#thread = thread;
  }

  listen({ answer, end }: ConnectionEvents): void {
    this.#answer = answer;
    this.#link.port.on('message', answer);
    if (this.#thread) this.#thread.onEnd(end);
    else this.#link.port.on('close', () => end(undefined));
  }

  send(request: WriterRequest): void {
    this.#link.port.postMessage(request);
  }

  /**
   * Blocks the calling thread until the next answer has arrived and been processed, for at most `ms` milliseconds. Later ones
   * arrive as usual.
   */
  awaitAnswer(ms: number): void {
    const { port, answers } = this.#link;
    const until = performance.now() + ms;
    for (let left = ms; left > 0; left = until - performance.now()) {
      const seen = Atomics.load(answers, 0);
      const received = receiveMessageOnPort(port);
      if (received !== undefined) {
        this.#answer(received.message);
        return;
      }
      Atomics.wait(answers, 0, seen, left);
    }
  }

  close(): void {
    this.#link.port.close();
  }
}

/** The one thread that writes to an event log's file. It serves any number of links, and the requests of each in order. */
class WriterThread {
  readonly #worker: Worker;

  private constructor(worker: Worker) {
    this.#worker = worker;
  }

  /** Resolves when the file is open; rejects when it cannot be opened. */
  static async open(path: string): Promise<WriterThread> {
    const worker = new Worker(workerUrl('appendWorker', import.meta.url), { workerData: { path } });
    await once(worker, 'message');
    return new WriterThread(worker);
  }

  /** Whether it is gone, because of `close` or a failure. */
  get ended(): boolean {
    return this.#worker.threadId === -1;
  }

  /** Returns a link for requests to it, for this thread or another one. */
  link(): WriterLink {
    const { port1, port2 } = new MessageChannel();
    const answers = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    this.#send({ link: { port: port2, answers } });
    return { port: port1, answers };
  }

  /** Calls `end` when the thread is gone, with the failure, if any. */
  onEnd(end: (error: Error | undefined) => void): void {
    this.#worker.on('error', end);
    this.#worker.on('exit', () => end(undefined));
  }

  /** Ends the thread once it has done what it was sent; resolves when it is gone. */
  async close(): Promise<void> {
    if (this.ended) return;
    const exited = new Promise((resolve) => this.#worker.once('exit', resolve));
    this.#send('close');
    await exited;
  }

  #send(message: WriterThreadMessage): void {
    this.#worker.postMessage(message, message === 'close' ? [] : [message.link.port]);
  }
}

/** A writer that the calling thread starts when it is first needed, and again after it has ended. */
export class OwnWriter implements WriterSource {
  readonly #path: string;
  #opening: Promise<WriterThread> | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  async connect(): Promise<WriterConnection> {
    const thread = await this.#thread();
    return new WriterConnection(thread.link(), thread);
  }

  async link(): Promise<WriterLink> {
    return (await this.#thread()).link();
  }

  async close(): Promise<void> {
    const thread = await this.#opening?.catch(() => undefined);
    await thread?.close();
  }

  async #thread(): Promise<WriterThread> {
    this.#opening ??= WriterThread.open(this.#path);
    const opening = this.#opening;
    const thread = await opening.catch(() => undefined);
    if (thread?.ended === false) return thread;
    if (this.#opening === opening) this.#opening = undefined;
    return thread ? this.#thread() : opening;
  }
}

import { once } from 'node:events';
import { MessageChannel, Worker } from 'node:worker_threads';
import { workerUrl } from '../../../platform/threads/workerUrl.ts';
import type { WriterLink } from '../../eventLog.ts';
import type { WriterThreadMessage } from './appendProtocol.ts';

/** The one thread that writes to an event log's file. It serves any number of links, and the requests of each in order. */
export class WriterThread {
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

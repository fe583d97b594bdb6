import { once } from 'node:events';
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { workerUrl } from '../../threads/workerUrl.ts';
import type { WriterMessage, WriterRequest, WriterThreadData } from './appendProtocol.ts';

export interface WriterThreadEvents {
  answer(message: WriterMessage): void;
  /** The thread is gone, by a failure or because it was told to close. */
  end(error: Error | undefined): void;
}

/** The one thread that writes to an event log's file. It answers each request, in order. */
export class WriterThread {
  readonly #worker: Worker;
  readonly #port: MessagePort;
  /** How many answers the thread has sent: it wakes who waits for that to change. */
  readonly #answers: Int32Array;
  #answer: WriterThreadEvents['answer'] = () => undefined;

  private constructor(worker: Worker, port: MessagePort, answers: Int32Array) {
    this.#worker = worker;
    this.#port = port;
    this.#answers = answers;
  }

  /** Resolves when the file is open; rejects when it cannot be opened. */
  static async open(path: string): Promise<WriterThread> {
    const { port1, port2 } = new MessageChannel();
    const answers = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const workerData: WriterThreadData = { path, port: port2, answers };
    const worker = new Worker(workerUrl('appendWorker', import.meta.url), {
      workerData,
      transferList: [port2],
    });
    await once(worker, 'message');
    return new WriterThread(worker, port1, answers);
  }

  listen({ answer, end }: WriterThreadEvents): void {
    this.#answer = answer;
    this.#port.on('message', answer);
    this.#worker.on('error', end);
    this.#worker.on('exit', () => end(undefined));
  }

  send(request: WriterRequest): void {
    this.#port.postMessage(request);
  }

  /**
   * Holds up the calling thread until the next answer is there and dealt with, for so many milliseconds at the most. What
   * comes later is heard of as usual.
   */
  awaitAnswer(ms: number): void {
    const until = performance.now() + ms;
    for (let left = ms; left > 0; left = until - performance.now()) {
      const seen = Atomics.load(this.#answers, 0);
      const received = receiveMessageOnPort(this.#port);
      if (received !== undefined) {
        this.#answer(received.message);
        return;
      }
      Atomics.wait(this.#answers, 0, seen, left);
    }
  }

  /** Ends the thread when it has done what it was sent; resolves when it is gone. */
  async close(): Promise<void> {
    if (this.#worker.threadId === -1) return;
    const exited = once(this.#worker, 'exit');
    this.send('close');
    await exited;
    this.#port.close();
  }
}

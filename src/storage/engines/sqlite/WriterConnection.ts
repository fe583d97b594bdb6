import { receiveMessageOnPort } from 'node:worker_threads';
import type { WriterLink } from '../../eventLog.ts';
import type { WriterMessage, WriterRequest } from './appendProtocol.ts';
import type { WriterThread } from './WriterThread.ts';

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

import type { MessagePort } from 'node:worker_threads';
import { unavailable } from '../platform/errors.ts';
import type { Answers, OwnerMessage, Question, ThreadMessage } from './requestMessages.ts';

/** The first thread, as seen by another one that answers requests. */
export class FirstThread {
  /** Aborts when this thread is to end. */
  readonly stopping: AbortSignal;
  readonly #port: MessagePort;
  readonly #asked = new Map<number, PromiseWithResolvers<Answers[Question]>>();
  #last = 0;

  constructor(port: MessagePort) {
    this.#port = port;
    const stop = new AbortController();
    this.stopping = stop.signal;
    port.on('message', (message: OwnerMessage) => {
      if (message === 'stop') stop.abort();
      else this.#take(message);
    });
  }

  tell(message: ThreadMessage): void {
    this.#port.postMessage(message);
  }

  /** Asks for what only the first thread knows. Rejects with `unavailable` when a store needed for the answer is unreachable. */
  ask<Asked extends Question>(question: Asked): Promise<Answers[Asked]> {
    this.#last += 1;
    const asked = Promise.withResolvers<Answers[Question]>();
    this.#asked.set(this.#last, asked);
    this.tell({ kind: 'ask', question, number: this.#last });
    return asked.promise as Promise<Answers[Asked]>;
  }

  #take(message: Exclude<OwnerMessage, 'stop'>): void {
    const asked = this.#asked.get(message.number);
    this.#asked.delete(message.number);
    if ('answer' in message) asked?.resolve(message.answer);
    else asked?.reject(unavailable('event log', undefined, message.problem));
  }
}

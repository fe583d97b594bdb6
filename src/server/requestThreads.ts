import type { MessagePort, Transferable } from 'node:worker_threads';
import type { Logger } from 'pino';
import type { HttpTimes } from '../api/server/httpServer.ts';
import type { ProcessState } from '../modules/health.ts';
import type { Config } from '../platform/config.ts';
import { describeError, ServiceError, unavailable } from '../platform/errors.ts';
import { writeLines } from '../platform/logging.ts';
import { superviseWorker } from '../platform/threads/workers.ts';
import { workerUrl } from '../platform/threads/workerUrl.ts';
import type { WriterLink } from '../storage/eventLog.ts';
import { createSemaphores, type SharedMemory } from './sharedMemory.ts';

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
      else this.#receive(message);
    });
  }

  send(message: ThreadMessage): void {
    this.#port.postMessage(message);
  }

  /** Asks for what only the first thread knows. Rejects with `unavailable` when a store needed for the answer is unreachable. */
  ask<Asked extends Question>(question: Asked): Promise<Answers[Asked]> {
    this.#last += 1;
    const asked = Promise.withResolvers<Answers[Question]>();
    this.#asked.set(this.#last, asked);
    this.send({ kind: 'ask', question, number: this.#last });
    return asked.promise as Promise<Answers[Asked]>;
  }

  #receive(message: Exclude<OwnerMessage, 'stop'>): void {
    const asked = this.#asked.get(message.number);
    this.#asked.delete(message.number);
    if ('answer' in message) asked?.resolve(message.answer);
    else asked?.reject(unavailable('event log', undefined, message.problem));
  }
}

interface RequestThreadsOptions {
  /** Where the first thread listens. */
  port: number;
  memory: SharedMemory;
  times: HttpTimes | undefined;
  /** If the event log has a single writer. */
  writerLink: (() => Promise<Answers['writerLink']>) | undefined;
  processState(): Promise<Answers['processState']>;
}

/** The threads that answer requests in addition to the first one. One that fails is restarted. */
export class RequestThreads {
  /** Resolves when all of them are listening; rejects when one could not start. */
  readonly started: Promise<unknown>;
  readonly #options: RequestThreadsOptions;
  readonly #logger: Logger;
  readonly #stops: (() => Promise<void>)[];

  constructor(config: Config, logger: Logger, options: RequestThreadsOptions) {
    this.#options = options;
    this.#logger = logger;
    const threads = Array.from({ length: config.requestThreads - 1 }, (_, index) =>
      this.#start(config, index + 1),
    );
    this.#stops = threads.map(({ stop }) => stop);
    this.started = Promise.all(threads.map(({ started }) => started));
    this.started.catch(() => undefined);
  }

  /** Answers what was accepted, then ends them. */
  async stop(): Promise<void> {
    await Promise.all(this.#stops.map((stop) => stop()));
  }

  #start(config: Config, thread: number): { started: Promise<void>; stop: () => Promise<void> } {
    const { port, memory, times, writerLink } = this.#options;
    const starting = Promise.withResolvers<void>();
    const sharesWriter = writerLink !== undefined;
    const workerData: RequestThreadData = { config, thread, port, memory, sharesWriter, times };
    const failed = (problem: string) => {
      starting.reject(new RequestThreadFailed(problem));
      this.#logger.error({ thread, problem }, 'a request thread did not start');
    };
    const stop = superviseWorker<ThreadMessage>(workerUrl('requestWorker', import.meta.url), workerData, {
      onMessage: (message, answer) => {
        if (message.kind === 'listening') starting.resolve();
        else if (message.kind === 'failed') failed(message.problem);
        else if (message.kind === 'log') writeLines(this.#logger, message.lines);
        else void this.#answer(message, answer);
      },
      onError: (error) => {
        starting.reject(error);
        this.#logger.error({ thread, error: describeError(error) }, 'a request thread failed');
        for (const places of Object.values(createSemaphores(memory, thread))) places.giveAll();
      },
    });
    return { started: starting.promise, stop };
  }

  async #answer(
    { question, number }: ThreadMessage & { kind: 'ask' },
    send: (message: OwnerMessage, transfer?: Transferable[]) => void,
  ): Promise<void> {
    try {
      const answer = await this.#find(question);
      send({ number, answer }, 'port' in answer ? [answer.port] : []);
    } catch (error) {
      send({ number, problem: error instanceof ServiceError ? error.problem : undefined });
    }
  }

  #find(question: Question): Promise<Answers[Question]> {
    const { processState, writerLink } = this.#options;
    if (question === 'processState') return processState();
    return writerLink ? writerLink() : Promise.reject(new Error('this event log has no writer to share'));
  }
}

/** A thread could not start; `problem` tells operators why. */
class RequestThreadFailed extends Error {
  readonly problem: string;

  constructor(problem: string) {
    super('A request thread did not start.');
    this.problem = problem;
  }
}

/** The data with which a request thread is started. */
export interface RequestThreadData {
  config: Config;
  /** Its number; the thread that started it has 0. */
  thread: number;
  /** Where all of them listen. */
  port: number;
  memory: SharedMemory;
  /** Whether the event log has one writer thread, to which the service's first thread provides a link. */
  sharesWriter: boolean;
  times: HttpTimes | undefined;
}

/** What only the first thread knows. */
interface Answers {
  /** The state of the whole process. */
  processState: ProcessState;
  /** A link to the writer of the event log. */
  writerLink: WriterLink;
}

type Question = keyof Answers;

/** From a thread to the first one. */
type ThreadMessage =
  | { kind: 'listening' }
  /** It could not start, for this reason, and ends. */
  | { kind: 'failed'; problem: string }
  | { kind: 'log'; lines: string[] }
  | { kind: 'ask'; question: Question; number: number };

/** To a thread: to end, or the answer to its question; no answer when a store is unavailable, with the problem, if known. */
type OwnerMessage =
  | 'stop'
  | { number: number; answer: Answers[Question] }
  | { number: number; problem: string | undefined };

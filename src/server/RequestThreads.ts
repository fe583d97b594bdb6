import type { Transferable } from 'node:worker_threads';
import type { Logger } from 'pino';
import type { HttpTimes } from '../api/server/createHttpServer.ts';
import type { Config } from '../platform/config.ts';
import { describeError, ServiceError } from '../platform/errors.ts';
import { writeLines } from '../platform/logger.ts';
import { keepThread } from '../platform/threads/keepThread.ts';
import { workerUrl } from '../platform/threads/workerUrl.ts';
import type { Answers, OwnerMessage, Question, RequestThreadData, ThreadMessage } from './requestMessages.ts';
import { type SharedMemory, sharedPlaces } from './SharedMemory.ts';

export interface RequestThreadsOptions {
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
    const stop = keepThread<ThreadMessage>(workerUrl('requestWorker', import.meta.url), workerData, {
      onMessage: (message, answer) => {
        if (message.kind === 'listening') starting.resolve();
        else if (message.kind === 'failed') failed(message.problem);
        else if (message.kind === 'log') writeLines(this.#logger, message.lines);
        else void this.#answer(message, answer);
      },
      onError: (error) => {
        starting.reject(error);
        this.#logger.error({ thread, error: describeError(error) }, 'a request thread failed');
        for (const places of Object.values(sharedPlaces(memory, thread))) places.giveAll();
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

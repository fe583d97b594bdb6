import type { Logger } from 'pino';
import type { HttpTimes } from '../api/server/createHttpServer.ts';
import { HttpServer } from '../api/server/HttpServer.ts';
import { sharePasswordPlaces } from '../modules/auth/password.ts';
import type { UserDirectory } from '../modules/auth/UserDirectory.ts';
import type { ProcessState } from '../modules/readiness.ts';
import type { Config } from '../platform/config.ts';
import type { OpenStores } from './openApiPorts.ts';
import { openRequestServer } from './openRequestServer.ts';
import { RequestThreads } from './RequestThreads.ts';
import { type SharedMemory, sharedPlaces } from './SharedMemory.ts';

export interface ServingOptions {
  /** Returns the state of the whole process. */
  processState(): Promise<ProcessState>;
  /** Set if more threads than the calling one are to answer. */
  memory: SharedMemory | undefined;
  times: HttpTimes | undefined;
}

/** Everything that answers the requests of a process. */
export interface Serving {
  url: string;
  users: UserDirectory | undefined;
  /** Resolves when all threads answer requests; rejects when one could not start. */
  started: Promise<unknown>;
  /** Answers what was accepted, and ends. */
  stop(): Promise<void>;
}

/** Answers requests in the calling thread, over its stores, and in as many additional threads as configured. */
export async function serveRequests(
  config: Config,
  logger: Logger,
  stores: OpenStores,
  { processState, memory, times }: ServingOptions,
): Promise<Serving> {
  if (memory === undefined) {
    const listening = { ...config, requestThreads: 1 };
    const server = await openRequestServer(config, logger, stores, { listening, processState, times });
    return { ...server, started: Promise.resolve() };
  }
  const { passwords, ...places } = sharedPlaces(memory, 0);
  sharePasswordPlaces(passwords);
  await HttpServer.requireFree(config);
  const serving = { listening: config, processState, places, times };
  const server = await openRequestServer(config, logger, stores, serving);
  const writerLink = stores.eventLog.linkWriter?.bind(stores.eventLog);
  const { port } = server;
  const threads = new RequestThreads(config, logger, { port, memory, times, writerLink, processState });
  return {
    ...server,
    started: threads.started,
    async stop() {
      await Promise.all([server.stop(), threads.stop()]);
    },
  };
}

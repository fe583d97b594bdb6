import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import type { Logger } from 'pino';
import { sharePasswordSemaphore } from '../modules/auth/passwords.ts';
import { createLogger, ThreadLog } from '../platform/logging.ts';
import { SharedFlag } from '../platform/threads/semaphore.ts';
import { exitWorker, reportMeasurements } from '../platform/threads/workers.ts';
import { systemClock } from '../storage/rateLimiters.ts';
import { openRequestServer, openStores } from './requestServer.ts';
import { FirstThread, type RequestThreadData } from './requestThreads.ts';
import { createSemaphores } from './sharedMemory.ts';
import { startFailure } from './startFailure.ts';

if (parentPort === null) throw new Error('requestWorker runs as a worker thread');
reportMeasurements();
const first = new FirstThread(parentPort);
const log = new ThreadLog((lines) => first.send({ kind: 'log', lines }));
const { config, thread, port, memory, sharesWriter, times } = workerData as RequestThreadData;

/** Answers requests until told to stop. */
async function answerRequests(logger: Logger, stops: (() => unknown)[]): Promise<void> {
  const { passwords, ...places } = createSemaphores(memory, thread);
  sharePasswordSemaphore(passwords);
  const stores = await openStores(config, {
    step: (work) => work,
    stops,
    eventLog: sharesWriter ? { linkWriter: () => first.ask('writerLink') } : {},
    awaited: new SharedFlag(memory.awaited),
    counts: memory.counts,
    clock: systemClock,
  });
  const server = await openRequestServer(config, logger, stores, {
    thread,
    listening: { ...config, port },
    processState: () => first.ask('processState'),
    places,
    times,
  });
  stops.push(() => server.stop());
  first.send({ kind: 'listening' });
  if (!first.stopping.aborted) await once(first.stopping, 'abort');
}

const stops: (() => unknown)[] = [];
try {
  await answerRequests(createLogger(config.logLevel, log), stops);
} catch (error) {
  first.send({ kind: 'failed', problem: startFailure(error, config.logLevel) });
}
for (const stop of stops.reverse()) await stop();
log.close();
exitWorker();

import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import type { Logger } from 'pino';
import { sharePasswordPlaces } from '../modules/auth/password.ts';
import { createLogger } from '../platform/logger.ts';
import { ThreadLog } from '../platform/ThreadLog.ts';
import { endThread } from '../platform/threads/endThread.ts';
import { reportMeasurements } from '../platform/threads/reportMeasurements.ts';
import { SharedFlag } from '../platform/threads/SharedFlag.ts';
import { systemClock } from '../storage/clock.ts';
import { FirstThread } from './FirstThread.ts';
import { openRequestServer } from './openRequestServer.ts';
import { openStores } from './openStores.ts';
import type { RequestThreadData } from './requestMessages.ts';
import { sharedPlaces } from './SharedMemory.ts';
import { startFailure } from './startFailure.ts';

if (parentPort === null) throw new Error('requestWorker runs as a worker thread');
reportMeasurements();
const first = new FirstThread(parentPort);
const log = new ThreadLog((lines) => first.tell({ kind: 'log', lines }));
const { config, thread, port, memory, sharesWriter, times } = workerData as RequestThreadData;

/** Answers requests until told to stop. */
async function answerRequests(logger: Logger, stops: (() => unknown)[]): Promise<void> {
  const { passwords, ...places } = sharedPlaces(memory, thread);
  sharePasswordPlaces(passwords);
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
  first.tell({ kind: 'listening' });
  if (!first.stopping.aborted) await once(first.stopping, 'abort');
}

const stops: (() => unknown)[] = [];
try {
  await answerRequests(createLogger(config.logLevel, log), stops);
} catch (error) {
  first.tell({ kind: 'failed', problem: startFailure(error, config.logLevel) });
}
for (const stop of stops.reverse()) await stop();
log.close();
endThread();

import { parentPort, workerData } from 'node:worker_threads';
import { SharedFlag } from '../platform/threads/semaphore.ts';
import { exitWorker, lowerThreadPriority, reportMeasurements } from '../platform/threads/workers.ts';
import { runProjector } from './runProjector.ts';

if (parentPort === null) throw new Error('projectorWorker runs as a worker thread');
const port = parentPort;
lowerThreadPriority();
reportMeasurements();
const stop = new AbortController();
port.once('message', () => stop.abort());
await runProjector(workerData.config, new SharedFlag(workerData.awaited), stop.signal, (message) =>
  port.postMessage(message),
);
exitWorker();

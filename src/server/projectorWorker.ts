import { parentPort, workerData } from 'node:worker_threads';
import { endThread } from '../platform/threads/endThread.ts';
import { reportMeasurements } from '../platform/threads/reportMeasurements.ts';
import { SharedFlag } from '../platform/threads/SharedFlag.ts';
import { yieldToRequests } from '../platform/threads/yieldToRequests.ts';
import { runProjector } from './runProjector.ts';

if (parentPort === null) throw new Error('projectorWorker runs as a worker thread');
const port = parentPort;
yieldToRequests();
reportMeasurements();
const stop = new AbortController();
port.once('message', () => stop.abort());
await runProjector(workerData.config, new SharedFlag(workerData.awaited), stop.signal, (message) =>
  port.postMessage(message),
);
endThread();

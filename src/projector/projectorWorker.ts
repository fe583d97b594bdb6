import { parentPort, workerData } from 'node:worker_threads';
import { runProjector } from './runProjector.ts';
import { yieldToRequests } from './yieldToRequests.ts';

if (parentPort === null) throw new Error('projectorWorker runs as a worker thread');
const port = parentPort;
yieldToRequests();
const stop = new AbortController();
port.once('message', () => stop.abort());
await runProjector(workerData.config, stop.signal, (message) => port.postMessage(message));
port.close();

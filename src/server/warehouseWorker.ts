import { parentPort, workerData } from 'node:worker_threads';
import { exitWorker, lowerThreadPriority, reportMeasurements } from '../platform/threads/workers.ts';
import { keepWarehouses } from './warehouse.ts';

if (parentPort === null) throw new Error('warehouseWorker runs as a worker thread');
const port = parentPort;
lowerThreadPriority();
reportMeasurements();
const stop = new AbortController();
port.once('message', () => stop.abort());
await keepWarehouses(workerData.config, stop.signal, (message) => port.postMessage(message));
exitWorker();

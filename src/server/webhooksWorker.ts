import { parentPort, workerData } from 'node:worker_threads';
import { exitWorker, lowerThreadPriority, reportMeasurements } from '../platform/threads/workers.ts';
import { openWebhooks } from './openWebhooks.ts';

if (parentPort === null) throw new Error('webhooksWorker runs as a worker thread');
const port = parentPort;
lowerThreadPriority();
reportMeasurements();
const stop = new AbortController();
port.once('message', () => stop.abort());
const { config, schedule } = workerData;
const deliver = await openWebhooks(config, (message) => port.postMessage(message), { schedule });
await deliver(stop.signal);
exitWorker();

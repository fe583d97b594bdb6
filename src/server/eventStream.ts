import { Worker } from 'node:worker_threads';
import { workerUrl } from '../platform/threads/workerUrl.ts';

/** Returns a function that starts the thread of the event stream over an event log. */
export function feedThread(eventLogUrl: string): () => Worker {
  return () => new Worker(workerUrl('eventStreamWorker', import.meta.url), { workerData: { eventLogUrl } });
}

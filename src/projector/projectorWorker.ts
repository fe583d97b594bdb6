import { readlinkSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { basename } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { runProjector } from './runProjector.ts';

if (parentPort === null) throw new Error('projectorWorker runs as a worker thread');
const port = parentPort;
yieldToRequests();
const stop = new AbortController();
port.once('message', () => stop.abort());
await runProjector(workerData.config, stop.signal, (message) => port.postMessage(message));
port.close();

/** Requests come first: where the processors are all busy, folding waits. Linux has a priority for each thread. */
function yieldToRequests(): void {
  try {
    setPriority(
      Number(basename(readlinkSync('/proc/thread-self'))),
      constants.priority.PRIORITY_BELOW_NORMAL,
    );
  } catch {
    // Elsewhere all threads are equal, which costs speed and nothing else.
  }
}

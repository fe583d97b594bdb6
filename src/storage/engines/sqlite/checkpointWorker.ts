import { parentPort, workerData } from 'node:worker_threads';
import { checkpoint, openForCheckpoints } from './eventLogFile.ts';

/** Number of pages that may be left to the writer: it copies that few in the time of a commit or two. */
const FEW_PAGES = 400;
const MAX_PASSES = 5;

if (parentPort === null) throw new Error('checkpointWorker runs as a worker thread');
const port = parentPort;
const db = openForCheckpoints(workerData.path);

port.on('message', (message: 'copy' | 'close') => {
  if (message === 'close') {
    db.close();
    port.close();
    return;
  }
  // Each pass is shorter than the one before, and so is what was committed during it.
  for (let pass = 0; pass < MAX_PASSES && checkpoint(db) > FEW_PAGES; pass++);
  port.postMessage('copied');
});

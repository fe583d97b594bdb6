import { parentPort, workerData } from 'node:worker_threads';
import { fileProblem, movedProblem } from '../fileProblem.ts';
import { OpenedFiles } from '../OpenedFiles.ts';
import type { AppendOutcome, WriterMessage, WriterRequest, WriterThreadData } from './appendProtocol.ts';
import { AppendWriter, NotErasable } from './appendWriter.ts';
import { BackgroundCheckpoint } from './BackgroundCheckpoint.ts';
import { openForAppending } from './eventLogFile.ts';

if (parentPort === null) throw new Error('appendWorker runs as a worker thread');
const { path, port, answers } = workerData as WriterThreadData;
const db = openForAppending(path);
// The write-ahead log holds the latest commits.
const files = new OpenedFiles(path, `${path}-wal`);
const writer = new AppendWriter(db);
const checkpoints = new BackgroundCheckpoint(path, db);

function send(message: WriterMessage): void {
  port.postMessage(message);
  Atomics.add(answers, 0, 1);
  Atomics.notify(answers, 0);
}

/** Refuses a batch when the file is no longer where a restart would look for it. */
function refuseMoved(): boolean {
  const moved = files.moved();
  if (moved !== undefined) send({ kind: 'failed', code: undefined, problem: movedProblem(moved) });
  return moved !== undefined;
}

/** Does what is asked, and tells of so many events' worth of writing. */
function carryOut(request: Exclude<WriterRequest, 'close'>): { outcomes: AppendOutcome[]; events: number } {
  if ('erase' in request) {
    writer.erase(request.erase);
    return { outcomes: [], events: request.erase.erased.length };
  }
  if ('prove' in request) {
    writer.prove(request.prove);
    return { outcomes: [], events: 1 };
  }
  return { outcomes: writer.commit(request), events: request.length };
}

async function close(): Promise<void> {
  await checkpoints.close();
  db.close();
  port.close();
}

port.on('message', (request: WriterRequest) => {
  if (request === 'close') {
    void close();
    return;
  }
  try {
    // Before, so that nothing is written where nobody would find it; and after, when it could have gone meanwhile.
    if (refuseMoved()) return;
    const { outcomes, events } = carryOut(request);
    if (refuseMoved()) return;
    send({ kind: 'committed', outcomes });
    checkpoints.committed(events);
  } catch (error) {
    if (error instanceof NotErasable) {
      send({ kind: 'refused', reason: error.message });
      return;
    }
    const code = (error as { errcode?: number }).errcode?.toString();
    send({ kind: 'failed', code, problem: fileProblem(path, error) });
  }
});
parentPort.postMessage('ready');

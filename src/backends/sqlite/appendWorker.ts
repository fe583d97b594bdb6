import { parentPort, workerData } from 'node:worker_threads';
import type { AppendRequest, WriterMessage } from './appendProtocol.ts';
import { AppendWriter } from './appendWriter.ts';
import { BackgroundCheckpoint } from './BackgroundCheckpoint.ts';
import { openForAppending } from './eventLogFile.ts';

if (parentPort === null) throw new Error('appendWorker runs as a worker thread');
const port = parentPort;
const db = openForAppending(workerData.path);
const writer = new AppendWriter(db);
const checkpoints = new BackgroundCheckpoint(workerData.path, db);

function send(message: WriterMessage): void {
  port.postMessage(message);
}

async function close(): Promise<void> {
  await checkpoints.close();
  db.close();
  port.close();
}

port.on('message', (requests: AppendRequest[] | 'close') => {
  if (requests === 'close') {
    void close();
    return;
  }
  try {
    send({ kind: 'committed', outcomes: writer.commit(requests) });
    checkpoints.committed(requests.length);
  } catch (error) {
    send({ kind: 'failed', code: (error as { errcode?: number }).errcode?.toString() });
  }
});
send({ kind: 'ready' });

import { parentPort, workerData } from 'node:worker_threads';
import { ChangedFields } from '../modules/eventStream/changedFields.ts';
import { DeidentificationHistory } from '../modules/eventStream/deidentificationSettings.ts';
import {
  CatchUpSubscription,
  type EventStreamRefusal,
  type EventStreamReply,
  type EventStreamRequest,
  EventStreamText,
  LiveSubscription,
  lazyDeidentifier,
  type MakeText,
  type NarrowedViews,
} from '../modules/eventStream/reader.ts';
import { ServiceError } from '../platform/errors.ts';
import { exitWorker, lowerThreadPriority, reportMeasurements } from '../platform/threads/workers.ts';
import { openEventLog } from './openStorage.ts';

if (parentPort === null) throw new Error('feedWorker runs as a worker thread');
const port = parentPort;
lowerThreadPriority();
reportMeasurements();
const requests: EventStreamRequest[] = [];
port.on('message', (request: EventStreamRequest) => requests.push(request));

const eventLog = await openEventLog(workerData.eventLogUrl);
const changedFields = new ChangedFields(eventLog);
const history = new DeidentificationHistory(eventLog);
/** Undefined until one of them is read. */
let views: NarrowedViews | undefined;
const makeText: MakeText = (events) => EventStreamText.of(events, changedFields, views);
const readers = new Map<number, CatchUpSubscription>();
let tail: LiveSubscription | undefined;

function send(reply: EventStreamReply): void {
  const transfer: ArrayBuffer[] = [];
  if (reply.kind === 'part') transfer.push(reply.part.bytes.buffer);
  if (reply.kind === 'appended') {
    for (const chunks of reply.chunks.values()) transfer.push(...chunks.map(({ bytes }) => bytes.buffer));
  }
  port.postMessage(reply, transfer);
}

function problemOf(error: unknown): EventStreamRefusal | undefined {
  if (!(error instanceof ServiceError)) return undefined;
  const { code, message, problem } = error;
  return code === 'unreadable' || code === 'internal' ? { code, message, problem } : undefined;
}

async function read({ reader, limit, upToTail }: EventStreamRequest & { kind: 'read' }): Promise<void> {
  const catchUp = readers.get(reader);
  if (catchUp === undefined) return;
  try {
    const part = await catchUp.next(limit, upToTail ? () => tail?.position ?? 0 : undefined);
    send({ kind: 'part', reader, part });
  } catch (error) {
    const refusal = problemOf(error);
    send({ kind: 'failed', reader, ...(refusal && { refusal }) });
  }
}

async function stop(): Promise<void> {
  tail?.close();
  await Promise.all([...readers.values()].map((reader) => reader.close()));
  await eventLog.close();
  exitWorker();
}

function handleRequest(request: EventStreamRequest): void {
  switch (request.kind) {
    case 'pseudonyms':
      views = { deidentifier: lazyDeidentifier(request.key), history };
      break;
    case 'open':
      readers.set(request.reader, new CatchUpSubscription(eventLog, makeText, request.selection, request));
      break;
    case 'read':
      void read(request);
      break;
    case 'close':
      void readers.get(request.reader)?.close();
      readers.delete(request.reader);
      break;
    case 'tail':
      tail ??= new LiveSubscription(eventLog, makeText, send);
      tail.add(request.tail, request.selection);
      break;
    case 'untail':
      tail?.delete(request.tail);
      if (tail?.empty) {
        tail.close();
        tail = undefined;
      }
      break;
    case 'stop':
      void stop();
      break;
  }
}

port.removeAllListeners('message');
port.on('message', handleRequest);
for (const request of requests) handleRequest(request);
send({ kind: 'ready' });

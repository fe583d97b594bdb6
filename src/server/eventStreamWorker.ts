import { parentPort, workerData } from 'node:worker_threads';
import { ChangedFields } from '../modules/eventStream/changedFields.ts';
import type { PseudonymKey } from '../modules/eventStream/deidentification.ts';
import {
  CatchUp,
  type FeedRefusal,
  type FeedReply,
  type FeedRequest,
  FeedText,
  lazyDeidentifier,
  type MakeText,
  Tail,
} from '../modules/eventStream/reader.ts';
import { ServiceError } from '../platform/errors.ts';
import { endThread, reportMeasurements, yieldToRequests } from '../platform/threads/workers.ts';
import { openEventLog } from './openStorage.ts';

if (parentPort === null) throw new Error('feedWorker runs as a worker thread');
const port = parentPort;
yieldToRequests();
reportMeasurements();
const requests: FeedRequest[] = [];
port.on('message', (request: FeedRequest) => requests.push(request));

const eventLog = await openEventLog(workerData.eventLogUrl);
const changedFields = new ChangedFields(eventLog);
let pseudonyms: PseudonymKey = { key: new Uint8Array(), epoch: 1 };
const deidentifier = lazyDeidentifier(() => pseudonyms);
const makeText: MakeText = (events) => FeedText.of(events, changedFields, deidentifier);
const readers = new Map<number, CatchUp>();
let tail: Tail | undefined;

function send(reply: FeedReply): void {
  const transfer: ArrayBuffer[] = [];
  if (reply.kind === 'part') transfer.push(reply.part.bytes.buffer);
  if (reply.kind === 'appended') {
    for (const chunks of reply.chunks.values()) transfer.push(...chunks.map(({ bytes }) => bytes.buffer));
  }
  port.postMessage(reply, transfer);
}

function refusalOf(error: unknown): FeedRefusal | undefined {
  if (!(error instanceof ServiceError)) return undefined;
  const { code, message, problem } = error;
  return code === 'unreadable' || code === 'internal' ? { code, message, problem } : undefined;
}

async function read({ reader, limit, upToTail }: FeedRequest & { kind: 'read' }): Promise<void> {
  const catchUp = readers.get(reader);
  if (catchUp === undefined) return;
  try {
    const part = await catchUp.next(limit, upToTail ? () => tail?.position ?? 0 : undefined);
    send({ kind: 'part', reader, part });
  } catch (error) {
    const refusal = refusalOf(error);
    send({ kind: 'failed', reader, ...(refusal && { refusal }) });
  }
}

async function stop(): Promise<void> {
  tail?.close();
  await Promise.all([...readers.values()].map((reader) => reader.close()));
  await eventLog.close();
  endThread();
}

function take(request: FeedRequest): void {
  switch (request.kind) {
    case 'pseudonyms':
      pseudonyms = request.key;
      break;
    case 'open':
      readers.set(request.reader, new CatchUp(eventLog, makeText, request.selection, request));
      break;
    case 'read':
      void read(request);
      break;
    case 'close':
      void readers.get(request.reader)?.close();
      readers.delete(request.reader);
      break;
    case 'tail':
      tail ??= new Tail(eventLog, makeText, send);
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
port.on('message', take);
for (const request of requests) take(request);
send({ kind: 'ready' });

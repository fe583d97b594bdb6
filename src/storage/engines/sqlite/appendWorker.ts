import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { measurements } from '../../../platform/metrics/metrics.ts';
import { reportMeasurements } from '../../../platform/threads/workers.ts';
import type { WriterLink } from '../../eventLog.ts';
import { fileProblem, movedProblem, OpenedFiles } from '../shared.ts';
import { AppendWriter, BackgroundCheckpoint, NotErasable } from './appendWriter.ts';
import { openForAppending } from './eventLogFile.ts';
import type {
  AppendOutcome,
  AppendRequest,
  EraseRequest,
  WriterMessage,
  WriterRequest,
  WriterThreadMessage,
} from './protocol.ts';

/** A request, and where its answer goes. */
interface Received<Request = WriterRequest> {
  link: WriterLink;
  request: Request;
}

if (parentPort === null) throw new Error('appendWorker runs as a worker thread');
const owner = parentPort;
reportMeasurements();
/** Events that are removed in one transaction, except where one stream has more. */
const MOST_ERASED = 200;
const commitSize = measurements.histogram('chartledger.commit.size', {});
const commitDuration = measurements.histogram('chartledger.commit.duration', {});
const { path } = workerData as { path: string };
const db = openForAppending(path);
// The write-ahead log contains the latest commits.
const files = new OpenedFiles(path, `${path}-wal`);
const writer = new AppendWriter(db);
const checkpoints = new BackgroundCheckpoint(path, db);
const links = new Set<WriterLink>();

function send({ port, answers }: WriterLink, message: WriterMessage): void {
  port.postMessage(message);
  Atomics.add(answers, 0, 1);
  Atomics.notify(answers, 0);
}

/**
 * Does work for those waiting at `to`, and reports failures to them. Checks that the files are where a restart would look for
 * them: before, so that nothing is written where nobody would find it, and after, when the file could have gone meanwhile. `work`
 * returns how many events' worth was written, and the answers.
 */
function execute(
  to: WriterLink[],
  work: () => { events: number; outcomes: (AppendOutcome[] | NotErasable)[] },
): void {
  const sendAll = (message: WriterMessage) => {
    for (const link of to) send(link, message);
  };
  const refuseMoved = () => {
    const moved = files.moved();
    if (moved !== undefined) sendAll({ kind: 'failed', code: undefined, problem: movedProblem(moved) });
    return moved !== undefined;
  };
  try {
    if (refuseMoved()) return;
    const { events, outcomes } = work();
    if (refuseMoved()) return;
    for (const [index, link] of to.entries()) {
      const of = outcomes[index] as AppendOutcome[] | NotErasable;
      send(
        link,
        of instanceof NotErasable
          ? { kind: 'refused', reason: of.message }
          : { kind: 'committed', outcomes: of },
      );
    }
    checkpoints.committed(events);
  } catch (error) {
    const code = (error as { errcode?: number }).errcode?.toString();
    sendAll({ kind: 'failed', code, problem: fileProblem(path, error) });
  }
}

/** Appends the batches of several threads in one transaction. */
function append(batches: Received<AppendRequest[]>[]): void {
  execute(
    batches.map(({ link }) => link),
    () => {
      const startedAt = performance.now();
      const outcomes = writer.commit(batches.flatMap(({ request }) => request));
      commitDuration.observe((performance.now() - startedAt) / 1_000);
      commitSize.observe(outcomes.length);
      let from = 0;
      const ofBatches = batches.map(({ request: { length } }) => {
        from += length;
        return outcomes.slice(from - length, from);
      });
      return { events: outcomes.length, outcomes: ofBatches };
    },
  );
}

/** Removes what one thread asked for in one transaction. */
function erase(link: WriterLink, requests: EraseRequest[]): void {
  execute(
    requests.map(() => link),
    () => ({
      events: countOf(requests),
      outcomes: writer.erase(requests).map((refusal) => refusal ?? []),
    }),
  );
}

/** Returns how many events are removed. */
function countOf(requests: readonly EraseRequest[]): number {
  return requests.reduce((count, { erased }) => count + erased.length, 0);
}

/** Handles a request that is no batch, and with a removal those that wait behind it on the same link: they share its commit. */
function executeSingle({ link, request }: Received<Exclude<WriterRequest, AppendRequest[]>>): void {
  if ('prove' in request) {
    execute([link], () => {
      writer.prove(request.prove);
      return { events: 1, outcomes: [[]] };
    });
    return;
  }
  const requests = [request.erase];
  let other: WriterRequest | undefined;
  while (countOf(requests) < MOST_ERASED) {
    other = receiveMessageOnPort(link.port)?.message as WriterRequest | undefined;
    if (other === undefined || Array.isArray(other) || 'prove' in other) break;
    requests.push(other.erase);
    other = undefined;
  }
  erase(link, requests);
  if (other) handleRequest({ link, request: other });
}

/** Handles a request, and with a batch those waiting on the other links: they share its commit. */
function handleRequest(first: Received): void {
  const received = [first];
  if (Array.isArray(first.request)) {
    for (const link of links) {
      const next = link === first.link ? undefined : receiveMessageOnPort(link.port);
      if (next !== undefined) received.push({ link, request: next.message });
    }
  }
  const batches = received.filter((one): one is Received<AppendRequest[]> => Array.isArray(one.request));
  if (batches.length > 0) append(batches);
  for (const { link, request } of received) if (!Array.isArray(request)) executeSingle({ link, request });
}

async function close(): Promise<void> {
  await checkpoints.close();
  db.close();
  for (const { port } of links) port.close();
  owner.close();
}

owner.on('message', (message: WriterThreadMessage) => {
  if (message === 'close') {
    void close();
    return;
  }
  const { link } = message;
  links.add(link);
  link.port.on('message', (request: WriterRequest) => handleRequest({ link, request }));
  link.port.on('close', () => links.delete(link));
});
owner.postMessage('ready');

import { dataAs, type Position, type Principal } from '../../domain/events/event.ts';
import { erasureStep, placesListedIn, type RecordErased } from '../../domain/events/payloads.ts';
import { asUnreadable, ServiceError } from '../../platform/errors.ts';
import type { DocumentStore } from '../../storage/documentStore.ts';
import { type EventLog, inLogOrder, type LogCopy, type Place } from '../../storage/eventLog.ts';
import type { StateRow, StateStore, StateTable } from '../../storage/stateStore.ts';
import { messagesTable } from '../integrations/messages/message.ts';
import { readLog } from '../integrity/verify.ts';
import {
  bytesOf,
  differentProblem,
  each,
  isLost,
  lostProblem,
  type ObjectRef,
  type OnProgress,
  rowsOf,
  unreadableProblem,
  uploadIn,
} from './contents.ts';
import { toCopied } from './format.ts';
import { logNote, positionBehind, RESTORES_STREAM } from './restore.ts';

/** The stores of a service. */
export interface SourceStores {
  eventLog: EventLog;
  stateStore: StateStore;
  documentStore: DocumentStore;
}

/** Stores of other engines that receive their contents, and that nobody else uses yet. */
export interface TargetStores extends Omit<SourceStores, 'eventLog'> {
  log: LogCopy;
}

/** What a run has copied. */
export interface CopiedPart {
  events: number;
  /** Of documents and messages, and their bytes. */
  objects: number;
  bytes: number;
  /** What the stores should contain and do not, a line each. Everything else is copied. */
  problems: string[];
}

/** What a run has done. */
export interface Moved extends CopiedPart {
  /** False while the service is running: another run copies the rest. */
  isComplete: boolean;
}

/** How a service is moved. */
interface MoveTask {
  /** The tables of the state store that are moved. */
  tables: readonly StateTable<object>[];
  principal: Principal;
  /** Returns false while a process of the service is running, and otherwise prevents that others become its leaders. */
  isStopped(): Promise<boolean>;
  /** Prevents that the service is started on its previous stores; whether that is so; the opposite. */
  fence(): void;
  isFenced(): boolean;
  unfence(): void;
  writeKeys(): Promise<void>;
  onProgress: OnProgress;
}

/**
 * Copies the contents of all stores of a service to new ones, or continues with it, and completes that if the service is stopped. A
 * run may be cut off at any point, and the service may run between two of them. Rejects with `conflict` when the new log
 * holds anything else, or does not accept the events, and when the service was used until after the end; with `unavailable`.
 */
export async function moveStores(
  source: SourceStores,
  target: TargetStores,
  { tables, principal, ...task }: MoveTask,
): Promise<Moved> {
  const { eventLog } = source;
  const part: CopiedPart = { events: 0, objects: 0, bytes: 0, problems: [] };
  if (await target.log.isComplete()) {
    // A run was cut off just before its end.
    if (task.isFenced()) return { ...part, isComplete: true };
    throw usedSince();
  }
  const isStopped = await task.isStopped();
  const last = await copyLog(source, target, part, task.onProgress);
  await copyMessages(source, target, part);
  if (!isStopped) return { ...part, isComplete: false };
  await copyState(source.stateStore, target.stateStore, tables);
  await copyRemovals(eventLog, target.log, part);
  await task.writeKeys();
  await target.documentStore.setLog(await eventLog.identity());
  if (!(await task.isStopped()) || (await eventLog.head()) !== last)
    throw new ServiceError(
      'conflict',
      'The service was used before the move was complete. Stop all of its processes, and run this again: only what is new is copied.',
    );
  task.fence();
  await finishCopy(eventLog, target.log, last, principal);
  if ((await eventLog.head()) === last) return { ...part, isComplete: true };
  task.unfence();
  throw usedSince();
}

function usedSince(): ServiceError {
  return new ServiceError(
    'conflict',
    'The service was used after its event log had been copied. Stop all of its processes, empty the new stores, and start again.',
  );
}

/**
 * Copies the events that the log holds now and its copy does not, each at its position, and the bytes of the documents that they
 * name before them. A copy that was cut off goes on where it ended. Returns the position up to which it was read. Rejects with
 * `conflict` when the copy is of something else than this log's events, as `LogCopy.add` does, and with `unavailable`.
 */
async function copyLog(
  source: SourceStores,
  target: TargetStores,
  part: CopiedPart,
  onProgress: OnProgress,
): Promise<Position> {
  const { eventLog } = source;
  const after = await continuedAfter(eventLog, target.log);
  const until = await eventLog.head();
  if (until <= after) return until;
  for await (const batch of readLog(eventLog, { after, until })) {
    const uploads = batch.events.map(uploadIn).filter((upload) => upload !== undefined);
    await copyObjects(source, target, uploads, part);
    for (const { position } of batch.unreadable) part.problems.push(unreadableProblem(position));
    const places = inLogOrder(batch);
    await target.log.add(places.map(toCopied));
    part.events += places.length;
    onProgress(batch.position, until, part.events);
  }
  return until;
}

/**
 * Returns what a copy of all stores would contain now, and what would be missing in it. Rejects with `unavailable`.
 */
export async function surveyStores(source: SourceStores, onProgress: OnProgress): Promise<CopiedPart> {
  const { eventLog } = source;
  const part: CopiedPart = { events: 0, objects: 0, bytes: 0, problems: [] };
  const until = await eventLog.head();
  for await (const batch of readLog(eventLog, { after: 0, until })) {
    const uploads = batch.events.map(uploadIn).filter((upload) => upload !== undefined);
    await surveyObjects(source, uploads, part);
    for (const { position } of batch.unreadable) part.problems.push(unreadableProblem(position));
    part.events += inLogOrder(batch).length;
    onProgress(batch.position, until, part.events);
  }
  for await (const rows of pagesOf(source.stateStore, messagesTable))
    await surveyObjects(source, rows.flatMap(bytesOf), part);
  return part;
}

/** Counts the bytes that a copy would contain. */
async function surveyObjects(
  { eventLog, documentStore }: SourceStores,
  objects: readonly ObjectRef[],
  part: CopiedPart,
): Promise<void> {
  await each(objects, async (object) => {
    const { id, size, document } = object;
    if (await documentStore.has(id)) {
      part.objects += 1;
      part.bytes += size;
    } else if (document && (await isLost({ eventLog }, document))) part.problems.push(lostProblem(object));
  });
}

/** Returns the position of the last event of a copy; 0 for an empty one. */
async function continuedAfter(eventLog: EventLog, copy: LogCopy): Promise<Position> {
  const tail = await copy.tail();
  const [first, last] = [tail[0], tail.at(-1)];
  if (first === undefined || last === undefined) return 0;
  const found: Place[] = [];
  const isHeld = await holds(eventLog, first);
  if (isHeld)
    for await (const batch of readLog(eventLog, { after: first.position, until: last.position }))
      found.push(...inLogOrder(batch));
  const isSame = ({ position, id }: Place, index: number) =>
    position === found[index]?.position && id === found[index]?.id;
  if (isHeld && found.length === tail.length - 1 && tail.slice(1).every(isSame)) return last.position;
  throw new ServiceError(
    'conflict',
    'The new event log holds other events than this one, or not all up to its last one. Empty it, and start again.',
  );
}

/** Whether a log has an event at a place, or had it before it was removed. */
async function holds(eventLog: EventLog, { stream, revision, id, position }: Place): Promise<boolean> {
  const [event] = await eventLog.readStream(stream, { from: revision, limit: 1 }).catch((error) => {
    asUnreadable(error);
    return [];
  });
  const isOther = event?.revision === revision && event.id !== id;
  return !isOther && eventLog.hasPosition(position);
}

/**
 * Copies the bytes of all messages that EMRs sent, and that are stored now. Rejects with `unavailable`.
 */
async function copyMessages(source: SourceStores, target: TargetStores, part: CopiedPart): Promise<void> {
  for await (const rows of pagesOf(source.stateStore, messagesTable))
    await copyObjects(source, target, rows.flatMap(bytesOf), part);
}

/** Copies bytes that the target does not hold yet. */
async function copyObjects(
  { eventLog, documentStore }: SourceStores,
  target: TargetStores,
  objects: readonly ObjectRef[],
  part: CopiedPart,
): Promise<void> {
  await each(objects, async (object) => {
    const { id, document } = object;
    if (!(await target.documentStore.has(id))) {
      const bytes = await documentStore.get(id).catch(nothingWhereGone);
      if (bytes === undefined) {
        if (document && (await isLost({ eventLog }, document))) part.problems.push(lostProblem(object));
        return;
      }
      const { size, sha256 } = await target.documentStore.put(id, bytes);
      if (sha256 !== object.sha256) part.problems.push(differentProblem(object));
      part.objects += 1;
      part.bytes += size;
    }
    await target.documentStore.keep(id);
  });
}

function nothingWhereGone(error: unknown): undefined {
  if (!(error instanceof ServiceError) || error.code !== 'not_found') throw error;
}

/** Replaces the rows of tables of the state store by those of another one. Rejects with `unavailable`. */
async function copyState(
  source: StateStore,
  target: StateStore,
  tables: readonly StateTable<object>[],
): Promise<void> {
  for (const table of tables) {
    // Of a run that was cut off; some of them may be gone by now.
    await target.prune(table, Number.MAX_SAFE_INTEGER);
    for await (const rows of pagesOf(source, table)) await target.save(table, rows);
  }
}

const ROWS_AT_ONCE = 500;

async function* pagesOf<Body extends object>(
  stateStore: StateStore,
  table: StateTable<Body>,
): AsyncGenerator<StateRow<Body>[]> {
  let page: StateRow<Body>[] = [];
  for await (const row of rowsOf(stateStore, table)) {
    page.push(row);
    if (page.length < ROWS_AT_ONCE) continue;
    yield page;
    page = [];
  }
  yield page;
}

/**
 * Removes from the copy of a log what the log has removed, also since it was copied. Rejects with `unavailable`.
 */
async function copyRemovals(eventLog: EventLog, copy: LogCopy, part: CopiedPart): Promise<void> {
  const { streams } = await eventLog.removals(0);
  for (const stream of new Set(streams)) {
    const removed = await removedFrom(eventLog, stream).catch((error) => void asUnreadable(error));
    if (removed) await copy.erase(stream, removed.before, removed.erased);
    else
      part.problems.push(
        'What is left of an erased record cannot be read. Run chartledger verify to find out why.',
      );
  }
}

/** Returns what was removed from a stream, as the tombstones list it that it now begins with. Rejects with `unreadable`, too. */
async function removedFrom(eventLog: EventLog, stream: string) {
  const [first] = await eventLog.readStream(stream, { limit: 1 });
  if (first === undefined || erasureStep(first) === undefined) return undefined;
  const { revision: before } = first;
  const { parts: limit } = dataAs<RecordErased>(first.data);
  const tombstones = await eventLog.readStream(stream, { from: before, limit });
  const erased = tombstones.flatMap(placesListedIn).filter(({ revision }) => revision < before);
  return { before, erased };
}

/** Completes the copy of a log that was read up to a position. Rejects with `unavailable`. */
async function finishCopy(
  eventLog: EventLog,
  copy: LogCopy,
  last: Position,
  principal: Principal,
): Promise<void> {
  const gap = { after: last, position: positionBehind(last) };
  const note = logNote('LogMoved', { last_position: last }, principal);
  await copy.finish(RESTORES_STREAM, note, [...(await eventLog.omittedPositions()), gap]);
}

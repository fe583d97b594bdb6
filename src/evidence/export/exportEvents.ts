import { ServiceError } from '../../errors.ts';
import type { ErasedEvent, Position, RecordedEvent } from '../../events/event.ts';
import { eventLeaf } from '../../hashing/eventLeaf.ts';
import { addLeaf, emptyTree, type HashTree } from '../../hashing/hashTree.ts';
import type { EventLog } from '../../ports/eventLog.ts';
import { inLogOrder } from '../../ports/inLogOrder.ts';
import { changedKind } from '../../records/eventSubject.ts';
import { ErasureCheck } from '../ErasureCheck.ts';
import type { RangeBatch } from '../readLog.ts';
import { readWorkspace } from '../readWorkspace.ts';
import type { LastEvent } from '../treeHead.ts';
import { type ExportFormat, erasedLine, exportHeader, exportLine, type LineContext } from './exportLines.ts';
import { type ExportFilters, isComplete } from './manifest.ts';

/** What is exported. */
export interface ExportJob {
  workspace: string;
  filters: ExportFilters;
  format: ExportFormat;
}

/** An event that was written, as far as the manifest tells of it. */
export interface WrittenEvent {
  position: Position;
  recordedAt: string;
}

/** How far an export is; as JSON, all that is needed to go on. */
export interface ExportProgress {
  /** All events up to and including this position are done. */
  position: Position;
  /** Where the export ends: the log's end when it began. */
  until: Position;
  /** Of all events of the workspace that were read. */
  tree: HashTree;
  lastEvent: LastEvent | null;
  /** Events and bytes that were written. */
  events: number;
  bytes: number;
  first: WrittenEvent | null;
  last: WrittenEvent | null;
}

/** Where an export goes. */
export interface ExportSink {
  write(text: string): Promise<void>;
  /** Told after each batch; what was written is all that `progress` tells of. */
  reached(progress: Readonly<ExportProgress>): Promise<void>;
}

/** The progress of an export that has yet to begin, up to and including a position. */
export function startOfExport(until: Position): ExportProgress {
  return {
    position: 0,
    until,
    tree: emptyTree,
    lastEvent: null,
    events: 0,
    bytes: 0,
    first: null,
    last: null,
  };
}

/**
 * Writes the events of a workspace in log order, from `progress` on, which it moves. Hashes them all on the way, also
 * those that the filters leave out, and those that were erased. Goes on to the tombstones of what was erased meanwhile.
 * Rejects with `conflict` at an event that the store cannot read.
 */
export async function exportEvents(
  eventLog: EventLog,
  job: ExportJob,
  nameOf: LineContext['nameOf'],
  progress: ExportProgress,
  sink: ExportSink,
): Promise<void> {
  const { workspace, format } = job;
  const write = async (text: string) => {
    if (text === '') return;
    await sink.write(text);
    progress.bytes += Buffer.byteLength(text);
  };
  if (progress.bytes === 0) await write(exportHeader(format));
  const erasures = new ErasureCheck();
  for (;;) {
    const { position: after, until } = progress;
    for await (const batch of readWorkspace(eventLog, workspace, { after, until })) {
      requireReadable(batch, workspace);
      let text = '';
      for (const event of inLogOrder({ events: batch.events, erased: batch.erased })) {
        erasures.take(event);
        text += takeEvent(event as RecordedEvent | ErasedEvent, job, nameOf, progress);
      }
      await write(text);
      progress.position = batch.position;
      await sink.reached(progress);
    }
    if (erasures.unnamed === undefined) return;
    progress.until = await eventLog.head();
  }
}

function requireReadable({ unreadable: [damaged] }: RangeBatch, workspace: string): void {
  if (damaged === undefined) return;
  throw new ServiceError(
    'conflict',
    `The event at position ${damaged.position} cannot be read. To find out why, run: chartledger verify --workspace ${workspace}`,
  );
}

/** The text of an event, if it is wanted; `progress` is moved past it. */
function takeEvent(
  event: RecordedEvent | ErasedEvent,
  { filters, format }: ExportJob,
  nameOf: LineContext['nameOf'],
  progress: ExportProgress,
): string {
  const { size } = progress.tree;
  const leaf = 'data' in event ? eventLeaf(event) : event.leaf;
  progress.tree = addLeaf(progress.tree, leaf);
  if (!('data' in event)) {
    if (format === 'csv' || !isComplete(filters)) return '';
    progress.events += 1;
    return erasedLine(event, size);
  }
  progress.lastEvent = { id: event.id, recordedAt: event.recordedAt };
  if (!isWanted(event, filters)) return '';
  progress.events += 1;
  progress.last = { position: event.position, recordedAt: event.recordedAt };
  progress.first ??= progress.last;
  return exportLine(event, size, leaf, { format, nameOf });
}

/** ISO 8601 in UTC, to the millisecond, sorts as text. */
function isWanted(event: RecordedEvent, { from, to, kind }: ExportFilters): boolean {
  if (from !== null && event.recordedAt < from) return false;
  if (to !== null && event.recordedAt >= to) return false;
  return kind === null || changedKind(event) === kind;
}

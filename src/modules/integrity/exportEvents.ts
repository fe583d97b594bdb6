import { v7 as uuidv7 } from 'uuid';
import { eventLeaf } from '../../domain/eventLeaf.ts';
import type { ErasedEvent, Position, RecordedEvent } from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { addLeaf, emptyTree } from '../../domain/hashTree.ts';
import { changedKind } from '../../domain/records/eventSubject.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { inLogOrder } from '../../storage/inLogOrder.ts';
import { ErasureCheck } from './ErasureCheck.ts';
import { erasedLine, exportHeader, exportLine, type LineContext } from './exportLines.ts';
import {
  type ExportFilters,
  type ExportJob,
  type ExportProgress,
  type ExportSink,
  isComplete,
  isLimitedByTime,
} from './manifest.ts';
import type { RangeBatch } from './readLog.ts';
import { readWorkspace } from './readWorkspace.ts';
import { recordExport, recordExported } from './recordExport.ts';

/** What an export reads from, and for whom. */
export interface ExportContext extends Pick<LineContext, 'nameOf'> {
  eventLog: EventLog;
  caller: Caller;
}

/** Returns the progress of an export that has not begun, up to and including a position. */
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
 * Writes the events of a workspace in log order, starting from `progress`, which is updated. Hashes all of them, including those
 * that the filters omit and erased ones. What an export limited by time writes is in the audit trail before it is written. Continues to the tombstones of what was erased in the meantime, once that is in the
 * audit trail, too. Rejects with `conflict` at an event that the store cannot read.
 */
export async function exportEvents(
  { eventLog, caller, nameOf }: ExportContext,
  job: ExportJob,
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
      const written: Position[] = [];
      for (const event of inLogOrder({ events: batch.events, erased: batch.erased })) {
        erasures.take(event);
        const line = takeEvent(event as RecordedEvent | ErasedEvent, job, nameOf, progress);
        if (line !== '') written.push(event.position);
        text += line;
      }
      const [first, last] = [written[0], written.at(-1)];
      if (isLimitedByTime(job.filters) && first !== undefined && last !== undefined) {
        const ranges = [{ from: first, to: last }];
        await recordExported(eventLog, caller, job, { ranges, count: written.length });
      }
      await write(text);
      progress.position = batch.position;
      await sink.reached(progress);
    }
    if (erasures.unnamed === undefined) return;
    progress.until = await recordExport(eventLog, { ...caller, requestId: uuidv7() }, job, until + 1);
  }
}

function requireReadable({ unreadable: [damaged] }: RangeBatch, workspace: string): void {
  if (damaged === undefined) return;
  throw new ServiceError(
    'conflict',
    `The event at position ${damaged.position} cannot be read. To find out why, run: chartledger verify --workspace ${workspace}`,
  );
}

/** Returns the text of an event, if wanted; `progress` is moved past it. */
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

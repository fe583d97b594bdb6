import { ServiceError } from '../../errors.ts';
import type { Position, RecordedEvent } from '../../events/event.ts';
import { eventLeaf } from '../../hashing/eventLeaf.ts';
import { addLeaf, emptyTree, type HashTree } from '../../hashing/hashTree.ts';
import type { EventLog } from '../../ports/eventLog.ts';
import { changedKind } from '../../records/eventSubject.ts';
import { readWorkspace } from '../readWorkspace.ts';
import type { LastEvent } from '../treeHead.ts';
import { type ExportFormat, exportHeader, exportLine, type LineContext } from './exportLines.ts';
import type { ExportFilters } from './manifest.ts';

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
 * those that the filters leave out. Rejects with `conflict` at an event that the store cannot read.
 */
export async function exportEvents(
  eventLog: EventLog,
  { workspace, filters, format }: ExportJob,
  nameOf: LineContext['nameOf'],
  progress: ExportProgress,
  sink: ExportSink,
): Promise<void> {
  const write = async (text: string) => {
    if (text === '') return;
    await sink.write(text);
    progress.bytes += Buffer.byteLength(text);
  };
  if (progress.bytes === 0) await write(exportHeader(format));
  const { position: after, until } = progress;
  for await (const batch of readWorkspace(eventLog, workspace, { after, until })) {
    const [damaged] = batch.unreadable;
    if (damaged) {
      throw new ServiceError(
        'conflict',
        `The event at position ${damaged.position} cannot be read. See: chartledger verify --workspace ${workspace}`,
      );
    }
    let text = '';
    for (const event of batch.events) {
      const leaf = eventLeaf(event);
      if (isWanted(event, filters)) {
        text += exportLine(event, progress.tree.size, leaf, { format, nameOf });
        progress.events += 1;
        progress.last = { position: event.position, recordedAt: event.recordedAt };
        progress.first ??= progress.last;
      }
      progress.tree = addLeaf(progress.tree, leaf);
      progress.lastEvent = { id: event.id, recordedAt: event.recordedAt };
    }
    await write(text);
    progress.position = batch.position;
    await sink.reached(progress);
  }
}

/** ISO 8601 in UTC, to the millisecond, sorts as text. */
function isWanted(event: RecordedEvent, { from, to, kind }: ExportFilters): boolean {
  if (from !== null && event.recordedAt < from) return false;
  if (to !== null && event.recordedAt >= to) return false;
  return kind === null || changedKind(event) === kind;
}

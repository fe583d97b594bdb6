import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { Position } from '../../../domain/events/event.ts';
import { isBookkeeping } from '../../../domain/events/streamNames.ts';
import type { EventBatch, EventFilter } from '../../eventLog.ts';
import { MetadataTemplates } from './MetadataTemplates.ts';
import { PositionGaps } from './PositionGaps.ts';
import { DATA, type EventRow, eventColumns, POSITION, STREAM, toEvents } from './recordedEvents.ts';

/**
 * Many events at once cost less each, until they are so many that they outlive the young generation of V8's heap; how many may be
 * in memory is also limited by their size.
 */
const BATCH_EVENTS = 300;
/** Limit in characters of data, most of which are one byte. The event that exceeds it is the batch's last one. */
const BATCH_LENGTH = 8 * 1024 * 1024;
/** Number of events examined in one go for a filtered follower: limits how long it blocks its thread. */
const SCAN_WINDOW = 5_000;
/** Number of stream names that a follower remembers. */
const MAX_NAMES = 20_000;

/**
 * Returns a reader of batches for one follower, whose statements are prepared once; it reads nothing beyond the log's end.
 * `erased`: whether it reports where events were erased.
 */
export function batchReader(
  db: DatabaseSync,
  filter: EventFilter | undefined,
  erased = false,
): (after: Position) => EventBatch | undefined {
  const { sql, values } = condition(filter);
  const isByStream = filter !== undefined && 'streamPrefixes' in filter;
  const isByType = filter !== undefined && !isByStream;
  const named = isByStream
    ? 's.name FROM events e JOIN streams s ON s.id = e.stream_id'
    : 'e.stream_id FROM events e';
  const headOf = db.prepare('SELECT max(position) AS head FROM events');
  const statement = db.prepare(
    `SELECT ${eventColumns}, ${named} WHERE e.position > ? AND e.position <= ? ${sql} ${erased ? '' : 'AND e.leaf IS NULL'}
     ORDER BY e.position LIMIT ${BATCH_EVENTS}`,
  );
  statement.setReturnArrays(true);
  const nameOf = isByStream ? undefined : streamNames(db);
  // Not shared: a verification is based on what the file contains now, not on what this process remembers of it.
  const templates = new MetadataTemplates(db);
  const gaps = new PositionGaps(db);
  return (after) => {
    const head = (headOf.get()?.head as number | null) ?? 0;
    if (after > head || gaps.include(after)) return undefined;
    const end = filter ? Math.min(head, gaps.placeBehind(after, SCAN_WINDOW)) : head;
    const rows: EventRow[] = [];
    let length = 0;
    for (const found of statement.iterate(after, end, ...values) as Iterable<unknown>) {
      const row = found as EventRow;
      if (nameOf) row[STREAM] = nameOf(row[STREAM] as unknown as number);
      rows.push(row);
      // A damaged row may contain anything.
      length += row[DATA]?.length ?? 0;
      if (length >= BATCH_LENGTH) break;
    }
    const isCut = rows.length === BATCH_EVENTS || length >= BATCH_LENGTH;
    const position = isCut ? (rows.at(-1) as EventRow)[POSITION] : end;
    const wanted = isByType ? rows.filter((row) => !isBookkeeping(row[STREAM])) : rows;
    return { ...toEvents(wanted, templates), position, caughtUp: position === head };
  };
}

/** Returns the name of a stream by its id, which never changes. */
function streamNames(db: DatabaseSync): (id: number) => string {
  const names = new Map<number, string>();
  const nameOf = db.prepare('SELECT name FROM streams WHERE id = ?');
  nameOf.setReturnArrays(true);
  return (id) => {
    const known = names.get(id);
    if (known !== undefined) return known;
    const [name] = nameOf.get(id) as unknown as [string];
    if (names.size >= MAX_NAMES) names.delete(names.keys().next().value as number);
    names.set(id, name);
    return name;
  };
}

function condition(filter: EventFilter | undefined): { sql: string; values: SQLInputValue[] } {
  if (filter === undefined) return { sql: '', values: [] };
  if ('eventTypes' in filter) {
    return { sql: `AND e.type IN (${filter.eventTypes.map(() => '?').join()})`, values: filter.eventTypes };
  }
  const clauses = ['FALSE', ...filter.streamPrefixes.map(() => 'substr(s.name, 1, length(?)) = ?')];
  return {
    sql: `AND (${clauses.join(' OR ')})`,
    values: filter.streamPrefixes.flatMap((prefix) => [prefix, prefix]),
  };
}

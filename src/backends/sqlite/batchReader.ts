import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { Position } from '../../events/event.ts';
import type { EventBatch, EventFilter } from '../../ports/eventLog.ts';
import { eventColumns, toEvents } from './recordedEvents.ts';

const BATCH_EVENTS = 500;
/** Events looked at in one go for a filtered follower: bounds how long it holds its thread. */
const SCAN_WINDOW = 5_000;

/**
 * Reads batches of one follower, whose statements are prepared once; none from beyond the log's end. `erased`: whether it is
 * told where events were erased.
 */
export function batchReader(
  db: DatabaseSync,
  filter: EventFilter | undefined,
  erased = false,
): (after: Position) => EventBatch | undefined {
  const { sql, values } = condition(filter);
  const headOf = db.prepare('SELECT max(position) AS head FROM events');
  const statement = db.prepare(
    `SELECT ${eventColumns} WHERE e.position > ? AND e.position <= ? ${sql} ${erased ? '' : 'AND e.leaf IS NULL'}
     ORDER BY e.position LIMIT ?`,
  );
  return (after) => {
    const head = (headOf.get()?.head as number | null) ?? 0;
    if (after > head) return undefined;
    const end = filter ? Math.min(head, after + SCAN_WINDOW) : head;
    const rows = statement.all(after, end, ...values, BATCH_EVENTS);
    const position = rows.length === BATCH_EVENTS ? (rows.at(-1)?.position as number) : end;
    return { ...toEvents(rows), position, caughtUp: position === head };
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

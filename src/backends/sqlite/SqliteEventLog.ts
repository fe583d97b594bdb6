import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify as formatUuid, parse as parseUuid } from 'uuid';
import { ServiceError } from '../../errors.ts';
import type {
  Appended,
  EventBatch,
  EventFilter,
  EventLog,
  ExpectedRevision,
  FollowOptions,
  NewEvent,
  Position,
  ReadOptions,
  RecordedEvent,
} from '../../ports/eventLog.ts';
import { openForAppending, openForReading } from './eventLogFile.ts';
import { GroupCommit } from './groupCommit.ts';

const MAX_EVENT_BYTES = 1024 * 1024;
const BATCH_EVENTS = 500;
/** Events looked at in one go for a filtered follower: bounds how long it holds its thread. */
const SCAN_WINDOW = 5_000;
const POLL_MS = 20;

const columns = `e.position, e.revision, e.event_id, e.type, e.recorded_at, e.metadata, e.data, s.name AS stream
  FROM events e JOIN streams s ON s.id = e.stream_id`;

/** The event log in one SQLite file. */
export class SqliteEventLog implements EventLog {
  readonly #path: string;
  readonly #db: DatabaseSync;
  readonly #statements;
  #opening: Promise<GroupCommit> | undefined;
  #writer: GroupCommit | undefined;

  private constructor(path: string, db: DatabaseSync) {
    this.#path = path;
    this.#db = db;
    this.#statements = {
      head: db.prepare('SELECT max(position) AS head FROM events'),
      dataVersion: db.prepare('PRAGMA data_version'),
      forwards: db.prepare(
        `SELECT ${columns} WHERE s.name = ? AND e.revision >= ? ORDER BY e.revision LIMIT ?`,
      ),
      backwards: db.prepare(
        `SELECT ${columns} WHERE s.name = ? AND e.revision <= ? ORDER BY e.revision DESC LIMIT ?`,
      ),
    };
  }

  /** Opens the log's file, and makes it and its folder when they are not there. */
  static async open(path: string): Promise<SqliteEventLog> {
    mkdirSync(dirname(path), { recursive: true });
    openForAppending(path).close();
    return new SqliteEventLog(path, openForReading(path));
  }

  async append(stream: string, event: NewEvent, expected: ExpectedRevision): Promise<Appended> {
    const data = JSON.stringify(event.data);
    const metadata = JSON.stringify(event.metadata);
    if (Buffer.byteLength(data) + Buffer.byteLength(metadata) > MAX_EVENT_BYTES) {
      throw new ServiceError('payload_too_large', 'The event is larger than 1 MiB.');
    }
    const writer = this.#writer ?? (await this.#openWriter());
    return writer.append({
      stream,
      eventId: parseUuid(event.id),
      type: event.type,
      data,
      metadata,
      expected,
    });
  }

  async readStream(stream: string, options: ReadOptions): Promise<RecordedEvent[]> {
    const { direction = 'forwards', limit } = options;
    const rows =
      direction === 'forwards'
        ? this.#statements.forwards.all(stream, options.from ?? 0, limit)
        : this.#statements.backwards.all(stream, options.from ?? Number.MAX_SAFE_INTEGER, limit);
    return rows.map(toEvent);
  }

  async head(): Promise<Position> {
    return (this.#statements.head.get()?.head as number | null) ?? 0;
  }

  async *follow({ after, filter, signal }: FollowOptions): AsyncGenerator<EventBatch> {
    let position = after;
    let announced = false;
    while (!signal.aborted) {
      const seen = this.#dataVersion();
      const batch = await this.#readBatch(position, filter);
      if (batch.position > position || (batch.caughtUp && !announced)) {
        announced = batch.caughtUp;
        position = batch.position;
        yield batch;
      }
      while (batch.caughtUp && !signal.aborted && this.#dataVersion() === seen) {
        await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  async close(): Promise<void> {
    if (this.#opening) await (await this.#opening).close();
    this.#db.close();
  }

  /** The writer's thread starts with the first append: who only reads does without. */
  async #openWriter(): Promise<GroupCommit> {
    this.#opening ??= GroupCommit.open(this.#path);
    this.#writer = await this.#opening;
    return this.#writer;
  }

  /** Changes whenever another connection, here or in another process, has committed. */
  #dataVersion(): unknown {
    return this.#statements.dataVersion.get()?.data_version;
  }

  async #readBatch(after: Position, filter: EventFilter | undefined): Promise<EventBatch> {
    const head = Math.max(await this.head(), after);
    const end = filter ? Math.min(head, after + SCAN_WINDOW) : head;
    const { sql, values } = condition(filter);
    const rows = this.#db
      .prepare(
        `SELECT ${columns} WHERE e.position > ? AND e.position <= ? ${sql} ORDER BY e.position LIMIT ?`,
      )
      .all(after, end, ...values, BATCH_EVENTS);
    const events = rows.map(toEvent);
    const position = events.length === BATCH_EVENTS ? (events.at(-1) as RecordedEvent).position : end;
    return { events, position, caughtUp: position === head };
  }
}

function condition(filter: EventFilter | undefined): { sql: string; values: SQLInputValue[] } {
  if (filter === undefined) return { sql: '', values: [] };
  if ('eventTypes' in filter) {
    return { sql: `AND e.type IN (${filter.eventTypes.map(() => '?').join()})`, values: filter.eventTypes };
  }
  const clauses = filter.streamPrefixes.map(() => 'substr(s.name, 1, ?) = ?');
  return {
    sql: `AND (${clauses.join(' OR ')})`,
    values: filter.streamPrefixes.flatMap((prefix) => [prefix.length, prefix]),
  };
}

function toEvent(row: Record<string, unknown>): RecordedEvent {
  return {
    id: formatUuid(row.event_id as Uint8Array),
    type: row.type as string,
    data: JSON.parse(row.data as string),
    metadata: JSON.parse(row.metadata as string),
    stream: row.stream as string,
    revision: row.revision as number,
    position: row.position as number,
    recordedAt: new Date(row.recorded_at as number).toISOString(),
  };
}

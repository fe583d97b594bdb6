import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { validate as isUuid, parse as parseUuid } from 'uuid';
import {
  type ErasedEvent,
  type EventMetadata,
  isJsonObject,
  type Position,
  type RecordedEvent,
  type UnreadableEvent,
} from '../../../domain/events/event.ts';
import { isBookkeeping, mayContain } from '../../../domain/events/streams.ts';
import {
  type EventBatch,
  type EventFilter,
  lastBeforeOmitted,
  type OmittedPositions,
} from '../../eventLog.ts';

/**
 * Stands in a template for the request's id, twice, and the salt. Canonical JSON never contains it, as that escapes control
 * characters.
 */
const PLACE = '\u0001';
/** The metadata of an event of one request; canonical order puts the salt after the request's id. */
const FORM =
  /^(\{"\$correlationId":")([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})(",.*"requestId":")\2(","salt":")([\da-f]{32})(".*)$/;
/** Members that differ in each request; such a template would be used once. */
const OF_ONE_REQUEST = /"(?:clientRequestId|message|traceparent)":"/;

/** Maximum number of templates in a file; anything that would need more is stored in full. */
const MAX_TEMPLATES = 10_000;

/** A template's text around the request's id, that id again, and the salt; and the members that are always the same. */
interface Template {
  text: string;
  parts: [string, string, string, string];
  members: EventMetadata;
}

/**
 * Stores what the metadata of one key's events have in common, most of it, once in a log's file, and for each event the number of
 * the template (4 bytes), the salt (16), and the request's id (16), unless that is the event's own.
 */
export class MetadataTemplates {
  readonly #ids = new Map<string, number>();
  readonly #templates = new Map<number, Template>();
  /** Numbers of templates compared with the file since `lookAgain`. */
  readonly #seen = new Set<number>();
  readonly #db: DatabaseSync;
  #statements: ReturnType<typeof prepare> | undefined;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /** Returns what is stored for an event's metadata (canonical JSON). Must be called within a transaction. */
  pack(metadata: string, eventId: string): string | Uint8Array {
    const [, begin, requestId, middle, beforeSalt, salt, end] = FORM.exec(metadata) ?? [];
    if (requestId === undefined || salt === undefined || OF_ONE_REQUEST.test(metadata)) return metadata;
    const text = [begin, middle, beforeSalt, end].join(PLACE);
    const id = this.#idOf(text);
    if (id === undefined) return metadata;
    const isEventId = requestId === eventId;
    const packed = Buffer.alloc(isEventId ? 20 : 36);
    packed.writeUInt32BE(id);
    packed.write(salt, 4, 'hex');
    if (!isEventId) packed.set(parseUuid(requestId), 20);
    return packed;
  }

  /** Forgets templates: those numbered by a failed transaction do not exist. */
  forget(): void {
    this.#ids.clear();
  }

  /** From now on, `unpack` uses what the file then contains, not what is remembered of it. */
  invalidate(): void {
    this.#seen.clear();
  }

  /**
   * Returns the metadata of an event, as text and object, from what is stored; bytes are given as hex. Throws when it cannot have
   * been stored that way.
   */
  unpack(stored: string, eventId: string): { text: string; metadata: EventMetadata } {
    if (stored.startsWith('{')) return { text: stored, metadata: JSON.parse(stored) };
    const { parts, members } = this.#template(Number.parseInt(stored.slice(0, 8), 16));
    const salt = stored.slice(8, 40);
    const requestId = stored.length === 40 ? eventId : withHyphens(stored.slice(40));
    const text = parts[0] + requestId + parts[1] + requestId + parts[2] + salt + parts[3];
    return { text, metadata: { ...members, $correlationId: requestId, requestId, salt } };
  }

  #idOf(text: string): number | undefined {
    const known = this.#ids.get(text);
    if (known !== undefined) return known;
    this.#statements ??= prepare(this.#db);
    const { find, add, count } = this.#statements;
    let id = find.get(text)?.id as number | undefined;
    if (id === undefined && Number(count.get()?.count) < MAX_TEMPLATES)
      id = Number(add.run(text).lastInsertRowid);
    if (id !== undefined) this.#ids.set(text, id);
    return id;
  }

  #template(id: number): Template {
    const known = this.#templates.get(id);
    if (known && this.#seen.has(id)) return known;
    this.#statements ??= prepare(this.#db);
    const text = String(this.#statements.text.get(id)?.text);
    this.#seen.add(id);
    if (known?.text === text) return known;
    const parts = text.split(PLACE) as Template['parts'];
    if (parts.length !== 4) throw new Error('a template has three places');
    const template = { text, parts, members: JSON.parse(parts.join('')) };
    this.#templates.set(id, template);
    return template;
  }
}

function prepare(db: DatabaseSync) {
  return {
    find: db.prepare('SELECT id FROM metadata_templates WHERE text = ?'),
    add: db.prepare('INSERT INTO metadata_templates (text) VALUES (?)'),
    count: db.prepare('SELECT coalesce(max(id), 0) AS count FROM metadata_templates'),
    text: db.prepare('SELECT text FROM metadata_templates WHERE id = ?'),
  };
}

/** Formats 32 hexadecimal digits as a UUID. */
function withHyphens(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/**
 * The positions omitted by a restored log: those after its last original event, which another continuation of the log may have
 * used, up to the event that records the restore. There are no others: rows are numbered consecutively, and none is deleted.
 */
export class PositionGaps {
  /** By ascending position: the last event before each gap, and the first one after it. */
  readonly all: readonly OmittedPositions[];

  constructor(db: DatabaseSync) {
    const rows = db.prepare('SELECT after, position FROM restores ORDER BY position').all();
    this.all = rows as unknown as OmittedPositions[];
  }

  /** For an omitted position, returns the last one before the gap; undefined for any other. */
  lastBefore(position: Position): Position | undefined {
    return lastBeforeOmitted(this.all, position);
  }

  /** Whether a position was omitted. */
  include(position: Position): boolean {
    return this.lastBefore(position) !== undefined;
  }

  /** Returns the position `count` places after another one, not counting omitted ones. */
  placeBehind(after: Position, count: number): Position {
    let place = after + count;
    for (const gap of this.all) {
      if (after <= gap.after && place > gap.after) place += gap.position - gap.after - 1;
    }
    return place;
  }
}

/**
 * What `toEvents` needs of each row. Statements return rows as arrays (`setReturnArrays`), which cost half as much as objects,
 * and ids as text, as each blob would be a separate buffer.
 */
export const eventColumns =
  'e.position, e.revision, lower(hex(e.event_id)), e.type, e.recorded_at, ' +
  "iif(typeof(e.metadata) = 'blob', lower(hex(e.metadata)), e.metadata), e.data, e.leaf";

/**
 * Start of metadata that is canonical, as written by `append`, along with its data. Earlier versions of the service began with
 * the workspace.
 */
const CANONICAL = '{"$correlationId":';

/** A row of `eventColumns`, and the name of its stream. */
export type EventRow = [
  position: number,
  revision: number,
  eventId: string,
  type: string,
  recordedAt: number,
  metadata: string,
  data: string,
  leaf: string | null,
  stream: string,
];

/** Indexes in an `EventRow`. */
const POSITION = 0;
const DATA = 6;
const STREAM = 8;
const LEAF = 7;

/** Returns the events of the rows, except for those that were erased, or that are not what was appended. */
export function toEvents(
  rows: EventRow[],
  templates: MetadataTemplates,
): Pick<EventBatch, 'events' | 'unreadable' | 'erased'> {
  const events: RecordedEvent[] = [];
  const unreadable: UnreadableEvent[] = [];
  const erased: ErasedEvent[] = [];
  for (const row of rows) {
    try {
      const leaf = row[LEAF];
      if (leaf !== null) erased.push(toErased(row, leaf));
      else {
        const event = toEvent(row, templates);
        if (mayContain(event.stream, event.metadata.workspace)) events.push(event);
        else unreadable.push({ ...toUnreadable(row), misplaced: true });
      }
    } catch {
      unreadable.push(toUnreadable(row));
    }
  }
  return {
    events,
    ...(unreadable.length > 0 && { unreadable }),
    ...(erased.length > 0 && { erased }),
  };
}

function toUnreadable([position, revision, eventId, type, , , , , stream]: EventRow): UnreadableEvent {
  return { id: withHyphens(eventId), type, stream, revision, position };
}

function toErased([position, revision, eventId, , , , , , stream]: EventRow, leaf: string): ErasedEvent {
  return { id: toUuid(eventId), stream, revision, position, leaf };
}

/** Throws when the row's bytes are not those of an event. */
function toEvent(row: EventRow, templates: MetadataTemplates): RecordedEvent {
  const [position, revision, eventId, type, recordedAt, stored, dataText, , stream] = row;
  const id = toUuid(eventId);
  const { text: metadataText, metadata } = templates.unpack(stored, id);
  if (typeof metadata?.workspace !== 'string') throw new Error('an event is of a workspace');
  const data = JSON.parse(dataText);
  if (!isJsonObject(data)) throw new Error('the data of an event are an object');
  return {
    id,
    type,
    data,
    dataText,
    metadata,
    metadataText: metadataText.startsWith(CANONICAL) ? metadataText : undefined,
    stream,
    revision,
    position,
    recordedAt: isoTime(recordedAt),
  };
}

/** Throws when it is not a UUID. */
function toUuid(hex: string): string {
  const id = withHyphens(hex);
  if (!isUuid(id)) throw new Error('the id of an event is a UUID');
  return id;
}

let lastTime = { ms: 0, iso: new Date(0).toISOString() };

/** Formats a time in ms as ISO 8601. Events of one commit have the same time: it is formatted once. */
export function isoTime(ms: number): string {
  if (ms !== lastTime.ms) lastTime = { ms, iso: new Date(ms).toISOString() };
  return lastTime.iso;
}

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

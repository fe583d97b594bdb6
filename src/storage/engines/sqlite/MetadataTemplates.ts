import type { DatabaseSync } from 'node:sqlite';
import { parse as parseUuid } from 'uuid';
import type { EventMetadata } from '../../../domain/events/eventMetadata.ts';

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
  lookAgain(): void {
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
export function withHyphens(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

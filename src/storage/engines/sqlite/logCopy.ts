import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { parse as parseUuid } from 'uuid';
import { canonicalJson } from '../../../domain/events/canonicalJson.ts';
import type { NewEvent, Position } from '../../../domain/events/event.ts';
import { unavailable } from '../../../platform/errors.ts';
import type { CopiedPlace, LogCopy } from '../../eventLog.ts';
import { fileProblem, makeOwnedFolders } from '../shared.ts';
import { openForAppending } from './eventLogFile.ts';
import { MetadataTemplates } from './eventRows.ts';

/** A new event log file that receives the events of another log. */
export class SqliteLogCopy implements LogCopy {
  readonly #path: string;
  readonly #db: DatabaseSync;
  readonly #templates: MetadataTemplates;
  readonly #statements;
  readonly #streams = new Map<string, { id: number; erased: boolean }>();
  #erasures = 0;

  /**
   * Creates the file of a log with that identity; it must not exist yet. Throws `unavailable`.
   */
  constructor(path: string, identity: string) {
    this.#path = path;
    try {
      makeOwnedFolders(dirname(path));
      const db = openForAppending(path);
      db.prepare('UPDATE log SET identity = ?').run(identity);
      this.#db = db;
      this.#templates = new MetadataTemplates(db);
      this.#statements = prepare(db);
    } catch (error) {
      throw unavailable('event log', error, fileProblem(path, error));
    }
  }

  async add(places: readonly CopiedPlace[]): Promise<void> {
    this.#transaction(() => {
      for (const place of places) this.#add(place);
    });
  }

  async finish(stream: string, event: NewEvent, position: Position): Promise<void> {
    this.#transaction(() => {
      const last = this.#statements.last.get();
      const after = Number(last?.position ?? 0);
      const recordedAt = new Date().toISOString();
      const known = this.#statements.lastRevision.get(this.#stream(stream).id);
      const revision = Number(known?.revision ?? -1) + 1;
      const { id, type, data, metadata } = event;
      const texts = { data: canonicalJson(data), metadata: canonicalJson(metadata) };
      this.#add({ id, type, stream, revision, position, recordedAt, ...texts });
      this.#statements.addRestore.run(position, after);
    });
    this.#io(() => this.#db.exec('PRAGMA wal_checkpoint(TRUNCATE)'));
  }

  async close(): Promise<void> {
    this.#db.close();
  }

  #add(place: CopiedPlace): void {
    const { position, stream, revision, id } = place;
    const { addEvent, markErased } = this.#statements;
    const known = this.#stream(stream);
    const add = (...rest: [string, number, string | Uint8Array, string, string | null]) =>
      addEvent.run(position, known.id, revision, parseUuid(id), ...rest);
    if ('leaf' in place) {
      if (!known.erased) markErased.run(++this.#erasures, known.id);
      known.erased = true;
      add('', 0, '', '', place.leaf);
    } else if ('data' in place) {
      const metadata = this.#templates.pack(place.metadata, id);
      add(place.type, Date.parse(place.recordedAt), metadata, place.data, null);
    } else {
      // Its bytes are lost; an event without any is also one that cannot be read.
      add(place.type, 0, '', '', null);
    }
  }

  #stream(name: string): { id: number; erased: boolean } {
    const known = this.#streams.get(name);
    if (known) return known;
    const { findStream, addStream } = this.#statements;
    const found = findStream.get(name);
    const stream = {
      id: Number(found?.id ?? addStream.run(name).lastInsertRowid),
      erased: found?.erased != null,
    };
    if (this.#streams.size >= MAX_STREAMS) this.#streams.clear();
    this.#streams.set(name, stream);
    return stream;
  }

  #transaction(work: () => void): void {
    this.#io(() => {
      this.#db.exec('BEGIN IMMEDIATE');
      try {
        work();
        this.#db.exec('COMMIT');
      } catch (error) {
        if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
        throw error;
      }
    });
  }

  #io<Result>(work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      throw unavailable('event log', error, fileProblem(this.#path, error));
    }
  }
}

/** Number of streams whose rows are remembered. */
const MAX_STREAMS = 50_000;

function prepare(db: DatabaseSync) {
  return {
    findStream: db.prepare('SELECT id, erased FROM streams WHERE name = ?'),
    addStream: db.prepare('INSERT INTO streams (name) VALUES (?)'),
    markErased: db.prepare('UPDATE streams SET erased = ? WHERE id = ?'),
    last: db.prepare('SELECT position FROM events ORDER BY position DESC LIMIT 1'),
    lastRevision: db.prepare('SELECT max(revision) AS revision FROM events WHERE stream_id = ?'),
    addEvent: db.prepare(
      'INSERT INTO events (position, stream_id, revision, event_id, type, recorded_at, metadata, data, leaf) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    ),
    addRestore: db.prepare('INSERT INTO restores (position, after) VALUES (?, ?)'),
  };
}

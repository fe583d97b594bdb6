import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { stringify as formatUuid, parse as parseUuid } from 'uuid';
import { canonicalJson } from '../../../domain/events/canonicalJson.ts';
import type { ErasedEvent, NewEvent } from '../../../domain/events/event.ts';
import { unavailable } from '../../../platform/errors.ts';
import type { CopiedPlace, LogCopy, OmittedPositions, Place } from '../../eventLog.ts';
import { fileProblem, makeOwnedFolders } from '../shared.ts';
import { AppendWriter } from './appendWriter.ts';
import { openForAppending } from './eventLogFile.ts';
import { MetadataTemplates } from './eventRows.ts';

/** An event log file that receives the events of another log. */
export class SqliteLogCopy implements LogCopy {
  readonly #path: string;
  readonly #db: DatabaseSync;
  readonly #templates: MetadataTemplates;
  readonly #statements;
  readonly #streams = new Map<string, { id: number; erased: boolean }>();
  #erasures = 0;

  /**
   * Creates the file of a log with that identity, or continues with one that was created in this way. Throws `unavailable`.
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
      this.#erasures = Number(this.#statements.lastErasure.get()?.place ?? 0);
    } catch (error) {
      throw unavailable('event log', error, fileProblem(path, error));
    }
  }

  async isComplete(): Promise<boolean> {
    return this.#io(() => this.#statements.isRestored.get() !== undefined);
  }

  async tail(): Promise<Place[]> {
    const last = this.#io(() => this.#statements.last.get());
    if (last === undefined) return [];
    const { position, stream, revision, id } = last;
    return [
      {
        ...{ position: Number(position), stream: String(stream), revision: Number(revision) },
        id: formatUuid(id as Uint8Array),
      },
    ];
  }

  async add(places: readonly CopiedPlace[]): Promise<void> {
    this.#transaction(() => {
      for (const place of places) this.#add(place);
    });
  }

  async erase(stream: string, before: number, erased: readonly ErasedEvent[]): Promise<void> {
    const [refusal] = this.#io(() => new AppendWriter(this.#db).erase([{ stream, before, erased }]));
    if (refusal) throw refusal;
    this.#streams.clear();
  }

  async finish(stream: string, event: NewEvent, omitted: readonly OmittedPositions[]): Promise<void> {
    const { position } = omitted.at(-1) as OmittedPositions;
    this.#transaction(() => {
      const recordedAt = new Date().toISOString();
      const known = this.#statements.lastRevision.get(this.#stream(stream).id);
      const revision = Number(known?.revision ?? -1) + 1;
      const { id, type, data, metadata } = event;
      const texts = { data: canonicalJson(data), metadata: canonicalJson(metadata) };
      this.#add({ id, type, stream, revision, position, recordedAt, ...texts });
      for (const gap of omitted) this.#statements.addRestore.run(gap.position, gap.after);
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
    last: db.prepare(
      `SELECT position, s.name AS stream, revision, event_id AS id
       FROM events JOIN streams s ON s.id = stream_id ORDER BY position DESC LIMIT 1`,
    ),
    lastErasure: db.prepare('SELECT max(erased) AS place FROM streams WHERE erased IS NOT NULL'),
    isRestored: db.prepare('SELECT 1 FROM restores LIMIT 1'),
    lastRevision: db.prepare('SELECT max(revision) AS revision FROM events WHERE stream_id = ?'),
    addEvent: db.prepare(
      'INSERT INTO events (position, stream_id, revision, event_id, type, recorded_at, metadata, data, leaf) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    ),
    addRestore: db.prepare('INSERT INTO restores (position, after) VALUES (?, ?)'),
  };
}

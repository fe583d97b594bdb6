import type { DatabaseSync } from 'node:sqlite';
import { parse as parseUuid } from 'uuid';
import { type Clock, SteadyClock } from '../../clock.ts';
import type { Appended, ExpectedRevision } from '../../eventLog.ts';
import type { AppendOutcome, AppendRequest, EraseRequest } from './appendProtocol.ts';
import { LogMemory } from './LogMemory.ts';
import { MetadataTemplates } from './MetadataTemplates.ts';

function holds(expected: ExpectedRevision, lastRevision: number): boolean {
  return expected === 'any' || lastRevision === (expected === 'none' ? -1 : expected);
}

/** A requested removal would leave a stream without its end, or an event without its place. */
export class NotErasable extends Error {}

/**
 * Writes batches of appends to an event log's file, each batch in one transaction: when `commit` returns, all of it is durable. A
 * conflict is the outcome of that one append and does not affect the others.
 */
export class AppendWriter {
  readonly #db: DatabaseSync;
  readonly #memory: LogMemory;
  readonly #clock: Clock;
  readonly #templates: MetadataTemplates;
  readonly #statements;

  /** `clock`: the source of the events' times. */
  constructor(db: DatabaseSync, clock: Clock = new SteadyClock()) {
    this.#db = db;
    this.#clock = clock;
    // Earlier versions expect times that never decrease, unless this says that they do.
    db.exec('INSERT OR IGNORE INTO falling_times (only) VALUES (1)');
    this.#memory = new LogMemory(db);
    this.#templates = new MetadataTemplates(db);
    this.#statements = {
      begin: db.prepare('BEGIN IMMEDIATE'),
      commit: db.prepare('COMMIT'),
      rollback: db.prepare('ROLLBACK'),
      prove: db.prepare('INSERT OR REPLACE INTO proof (only, bytes) VALUES (1, zeroblob(?))'),
      findStream: db.prepare('SELECT id FROM streams WHERE name = ?'),
      addStream: db.prepare('INSERT INTO streams (name) VALUES (?)'),
      findEvent: db.prepare(
        'SELECT revision, position FROM events WHERE event_id = ? AND stream_id = ? ORDER BY position LIMIT 1',
      ),
      hasRevision: db.prepare('SELECT 1 FROM events WHERE stream_id = ? AND revision = ?'),
      markErased: db.prepare(
        `UPDATE streams SET erased = 1 + coalesce((SELECT max(erased) FROM streams WHERE erased IS NOT NULL), 0)
         WHERE id = ?`,
      ),
      emptyEvent: db.prepare(
        `UPDATE events SET type = '', recorded_at = 0, metadata = '', data = '', leaf = ?
         WHERE position = ? AND stream_id = ? AND revision < ? AND leaf IS NULL`,
      ),
      unerased: db.prepare(
        'SELECT 1 FROM events WHERE stream_id = ? AND revision < ? AND leaf IS NULL LIMIT 1',
      ),
      addEvent: db.prepare(
        'INSERT INTO events (stream_id, revision, event_id, type, recorded_at, metadata, data) VALUES (?, ?, ?, ?, ?, ?, ?)',
      ),
    };
  }

  /** Proves that the file accepts this many bytes, by writing them beside the events. Throws when it does not. */
  prove(bytes: number): void {
    this.#statements.prove.run(bytes);
  }

  /** Appends all requests in one transaction. Throws, with nothing written, when the file cannot be written. */
  commit(requests: AppendRequest[]): AppendOutcome[] {
    return this.#transaction(() => {
      this.#memory.begin();
      const time = this.#clock.now();
      return requests.map((request) => this.#append(request, time));
    });
  }

  /**
   * Removes events in one transaction. Their rows stay, emptied, with the leaf: a page from which rows are deleted is filled with
   * rows of its neighbors, of which SQLite leaves copies behind. Throws `NotErasable`, with nothing changed.
   */
  erase({ stream, before, erased }: EraseRequest): void {
    const { findStream, hasRevision, markErased, emptyEvent, unerased } = this.#statements;
    this.#transaction(() => {
      const found = findStream.get(stream) as { id: number } | undefined;
      if (!found || !hasRevision.get(found.id, before))
        throw new NotErasable('The stream does not go on behind the events to be erased.');
      this.#memory.forget();
      markErased.run(found.id);
      for (const { position, leaf } of erased) emptyEvent.run(leaf, position, found.id, before);
      if (unerased.get(found.id, before))
        throw new NotErasable('An event to be erased is not among those named.');
    });
  }

  #transaction<Result>(work: () => Result): Result {
    this.#statements.begin.run();
    try {
      const result = work();
      this.#statements.commit.run();
      return result;
    } catch (error) {
      this.#memory.forget();
      this.#templates.forget();
      if (this.#db.isTransaction) this.#statements.rollback.run();
      throw error;
    }
  }

  #append(request: AppendRequest, time: number): AppendOutcome {
    const { stream, expected, type, metadata, data } = request;
    const id = request.eventId.toLowerCase();
    const eventId = parseUuid(id);
    const head = this.#memory.head(stream);
    const afterErasure = head?.erased ? { erased: true as const } : undefined;
    if (head && this.#memory.mayHold(head, id)) {
      const original = this.#statements.findEvent.get(eventId, head.id) as Appended | undefined;
      if (original && (request.isRepeat || holds(expected, original.revision - 1)))
        return { ...original, ...afterErasure };
    }
    const last = head?.revision ?? -1;
    if (!holds(expected, last)) return { conflict: last };
    const { addStream, addEvent } = this.#statements;
    const streamId = head?.id ?? Number(addStream.run(stream).lastInsertRowid);
    const packed = this.#templates.pack(metadata, id);
    const added = addEvent.run(streamId, last + 1, eventId, type, time, packed, data);
    this.#memory.appended(head, id);
    return { revision: last + 1, position: Number(added.lastInsertRowid), ...afterErasure };
  }
}

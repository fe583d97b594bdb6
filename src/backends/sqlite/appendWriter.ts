import type { DatabaseSync } from 'node:sqlite';
import { parse as parseUuid } from 'uuid';
import type { ExpectedRevision } from '../../ports/eventLog.ts';
import type { AppendOutcome, AppendRequest, EraseRequest } from './appendProtocol.ts';

function holds(expected: ExpectedRevision, lastRevision: number): boolean {
  return expected === 'any' || lastRevision === (expected === 'none' ? -1 : expected);
}

/** A removal was asked for that would leave a stream without its end, or an event without its place. */
export class NotErasable extends Error {}

/**
 * Writes batches of appends into an event log's file, each batch in one transaction: when `commit` returns, all of
 * it is durable. A conflict is the outcome of that one append and leaves its neighbours alone.
 */
export class AppendWriter {
  readonly #db: DatabaseSync;
  readonly #statements;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#statements = {
      begin: db.prepare('BEGIN IMMEDIATE'),
      commit: db.prepare('COMMIT'),
      rollback: db.prepare('ROLLBACK'),
      prove: db.prepare('INSERT OR REPLACE INTO proof (only, bytes) VALUES (1, zeroblob(?))'),
      latestTime: db.prepare('SELECT recorded_at AS time FROM events ORDER BY position DESC LIMIT 1'),
      findStream: db.prepare('SELECT id, erased FROM streams WHERE name = ?'),
      addStream: db.prepare('INSERT INTO streams (name) VALUES (?)'),
      lastRevision: db.prepare('SELECT max(revision) AS revision FROM events WHERE stream_id = ?'),
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

  /** Proves that the file takes so many bytes, by writing them beside the events. Throws when it does not. */
  prove(bytes: number): void {
    this.#statements.prove.run(bytes);
  }

  /** Appends all requests in one transaction. Throws, with nothing written, when the file cannot be written. */
  commit(requests: AppendRequest[]): AppendOutcome[] {
    return this.#transaction(() => {
      // Times never run backwards, whichever process wrote before, so that "as of" and the order of events agree.
      const latest = this.#statements.latestTime.get() as { time: number } | undefined;
      const time = Math.max(latest?.time ?? 0, Date.now());
      return requests.map((request) => this.#append(request, time));
    });
  }

  /**
   * Removes events in one transaction. Their rows stay, emptied, with the leaf: a page from which rows are deleted is
   * mended with rows of its neighbours, of which SQLite leaves copies behind. Throws `NotErasable`, with nothing changed.
   */
  erase({ stream, before, erased }: EraseRequest): void {
    const { findStream, hasRevision, markErased, emptyEvent, unerased } = this.#statements;
    this.#transaction(() => {
      const found = findStream.get(stream) as { id: number } | undefined;
      if (!found || !hasRevision.get(found.id, before))
        throw new NotErasable('The stream does not go on behind the events to be erased.');
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
      if (this.#db.isTransaction) this.#statements.rollback.run();
      throw error;
    }
  }

  #append(request: AppendRequest, time: number): AppendOutcome {
    const { findStream, addStream, lastRevision, findEvent, addEvent } = this.#statements;
    const found = findStream.get(request.stream) as { id: number; erased: number | null } | undefined;
    const last = found ? ((lastRevision.get(found.id) as { revision: number | null }).revision ?? -1) : -1;
    const afterErasure = found?.erased ? { erased: true as const } : undefined;
    const eventId = parseUuid(request.eventId);
    if (found) {
      const original = findEvent.get(eventId, found.id) as { revision: number; position: number } | undefined;
      if (original && holds(request.expected, original.revision - 1)) {
        return { revision: original.revision, position: original.position, ...afterErasure };
      }
    }
    if (!holds(request.expected, last)) return { conflict: last };
    const streamId = found?.id ?? Number(addStream.run(request.stream).lastInsertRowid);
    const { type, metadata, data } = request;
    const added = addEvent.run(streamId, last + 1, eventId, type, time, metadata, data);
    return { revision: last + 1, position: Number(added.lastInsertRowid), ...afterErasure };
  }
}

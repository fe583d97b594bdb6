import type { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { stringify as formatUuid, parse as parseUuid } from 'uuid';
import { workerUrl } from '../../../platform/threads/workerUrl.ts';
import type { Appended, ExpectedRevision } from '../../eventLog.ts';
import { type Clock, SteadyClock } from '../../rateLimiters.ts';
import { beginImmediate } from './database.ts';
import { checkpoint } from './eventLogFile.ts';
import { MetadataTemplates } from './eventRows.ts';
import type { AppendOutcome, AppendRequest, EraseRequest } from './protocol.ts';

/**
 * Number of events between two checkpoints, about 12 MB of write-ahead log: small enough that the disk and commits run smoothly.
 */
const EVENTS = 2_000;

/**
 * Has a separate thread copy the write-ahead log into the file while commits continue, so that no commit waits for it. Commits
 * add to the log meanwhile: the last bit, after which the log restarts, is copied here, between two commits. The thread is started
 * with the first copy: most commands write less than that. Should it fail, everything is copied here.
 */
export class BackgroundCheckpoint {
  readonly #path: string;
  readonly #db: DatabaseSync;
  #worker: Worker | undefined;
  #events = 0;
  #copying = false;

  /** `db`: the writer's connection to the file at `path`. */
  constructor(path: string, db: DatabaseSync) {
    this.#path = path;
    this.#db = db;
  }

  /** Reports the number of events added to the log. */
  committed(events: number): void {
    this.#events += events;
    if (this.#events < EVENTS || this.#copying) return;
    this.#copying = true;
    this.#worker ??= this.#start();
    this.#worker.postMessage('copy');
  }

  async close(): Promise<void> {
    if (this.#worker === undefined) return;
    const ended = new Promise((resolve) => this.#worker?.on('exit', resolve));
    this.#worker.postMessage('close');
    await ended;
  }

  #start(): Worker {
    const workerData = { path: this.#path };
    const worker = new Worker(workerUrl('checkpointWorker', import.meta.url), { workerData });
    worker.on('message', () => this.#copied());
    worker.on('error', () => {
      this.#worker = undefined;
      this.#copied();
    });
    return worker;
  }

  #copied(): void {
    checkpoint(this.#db);
    this.#events = 0;
    this.#copying = false;
  }
}

/** The end of a stream. */
interface StreamHead {
  /** Of its row in `streams`. */
  id: number;
  /** Of its last event; -1 when there is none. */
  revision: number;
  /** Whether earlier events of it were removed. */
  erased: boolean;
  /** No event of the stream has an id above this one. */
  greatestId: string;
}

/** Number of streams whose ends are remembered, in about 250 bytes each. */
const MAX_HEADS = 50_000;

/**
 * What the writer of an event log's file knows of it without a query: the ends of streams, and the greatest id. It is valid until
 * another connection, in this process or another, commits, which `begin` detects, and until a transaction fails, after which its
 * writer calls `forget`.
 *
 * Ids of events are generated in ascending order, so that a new one is above the previous ones; only one that is not may be a
 * repeat and has to be searched for.
 */
class LogMemory {
  readonly #heads = new Map<string, StreamHead>();
  readonly #statements;
  #dataVersion: unknown;
  /** The greatest id of an event in the log. */
  #greatestId: string | undefined;

  constructor(db: DatabaseSync) {
    this.#statements = {
      dataVersion: db.prepare('PRAGMA data_version'),
      greatestId: db.prepare('SELECT max(event_id) AS id FROM events'),
      head: db.prepare(
        `SELECT id, erased, (SELECT max(revision) FROM events WHERE stream_id = id) AS revision
         FROM streams WHERE name = ?`,
      ),
    };
  }

  /** Must be called first in each transaction of the writer. */
  begin(): void {
    const { dataVersion, greatestId } = this.#statements;
    const version = dataVersion.get()?.data_version;
    if (version !== this.#dataVersion) this.forget();
    this.#dataVersion = version;
    if (this.#greatestId !== undefined) return;
    const greatest = greatestId.get()?.id;
    this.#greatestId = greatest == null ? '' : formatUuid(greatest as Uint8Array);
  }

  /** Returns the end of a stream; undefined when there is no such stream. */
  head(stream: string): StreamHead | undefined {
    return this.#heads.get(stream) ?? this.#readHead(stream);
  }

  /** Whether the stream may already contain an event with this id. */
  mayContainEvent(head: StreamHead, eventId: string): boolean {
    return eventId <= head.greatestId;
  }

  /** Records that an event was appended to a stream; `head` is undefined for the first one. */
  appended(head: StreamHead | undefined, eventId: string): void {
    if (eventId > (this.#greatestId as string)) this.#greatestId = eventId;
    if (head === undefined) return;
    head.revision += 1;
    if (eventId > head.greatestId) head.greatestId = eventId;
  }

  forget(): void {
    this.#heads.clear();
    this.#greatestId = undefined;
  }

  #readHead(stream: string): StreamHead | undefined {
    const row = this.#statements.head.get(stream);
    if (row === undefined) return undefined;
    const head: StreamHead = {
      id: row.id as number,
      revision: (row.revision ?? -1) as number,
      erased: row.erased !== null,
      greatestId: this.#greatestId as string,
    };
    if (this.#heads.size >= MAX_HEADS) this.#heads.clear();
    this.#heads.set(stream, head);
    return head;
  }
}

function isExpected(expected: ExpectedRevision, lastRevision: number): boolean {
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
      commit: db.prepare('COMMIT'),
      rollback: db.prepare('ROLLBACK'),
      savepoint: db.prepare('SAVEPOINT one'),
      rollbackTo: db.prepare('ROLLBACK TO one'),
      release: db.prepare('RELEASE one'),
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
   * Removes events of several streams in one transaction. Their rows stay, emptied, with the leaf: a page from which rows are deleted
   * is filled with rows of its neighbors, of which SQLite leaves copies behind. Returns for each stream why it was left as it was;
   * undefined where it was not.
   */
  erase(requests: readonly EraseRequest[]): (NotErasable | undefined)[] {
    const { savepoint, release, rollbackTo } = this.#statements;
    return this.#transaction(() =>
      requests.map((request) => {
        savepoint.run();
        const refusal = this.#erase(request);
        if (refusal) rollbackTo.run();
        release.run();
        return refusal;
      }),
    );
  }

  #erase({ stream, before, erased }: EraseRequest): NotErasable | undefined {
    const { findStream, hasRevision, markErased, emptyEvent, unerased } = this.#statements;
    const found = findStream.get(stream) as { id: number } | undefined;
    if (!found || !hasRevision.get(found.id, before))
      return new NotErasable('The stream does not go on behind the events to be erased.');
    if (!unerased.get(found.id, before)) return undefined;
    this.#memory.forget();
    markErased.run(found.id);
    for (const { position, leaf } of erased) emptyEvent.run(leaf, position, found.id, before);
    return unerased.get(found.id, before)
      ? new NotErasable('An event to be erased is not among those named.')
      : undefined;
  }

  #transaction<Result>(work: () => Result): Result {
    beginImmediate(this.#db);
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
    if (head && this.#memory.mayContainEvent(head, id)) {
      const original = this.#statements.findEvent.get(eventId, head.id) as Appended | undefined;
      if (original && (request.isRepeat || isExpected(expected, original.revision - 1)))
        return { ...original, ...afterErasure };
    }
    const last = head?.revision ?? -1;
    if (!isExpected(expected, last)) return { conflict: last };
    const { addStream, addEvent } = this.#statements;
    const streamId = head?.id ?? Number(addStream.run(stream).lastInsertRowid);
    const packed = this.#templates.pack(metadata, id);
    const added = addEvent.run(streamId, last + 1, eventId, type, time, packed, data);
    this.#memory.appended(head, id);
    return { revision: last + 1, position: Number(added.lastInsertRowid), ...afterErasure };
  }
}

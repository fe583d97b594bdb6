import type { DatabaseSync } from 'node:sqlite';
import { LRUCache } from 'lru-cache';

/** The end of a stream. */
export interface StreamHead {
  /** Of its row in `streams`. */
  id: number;
  /** Of its last event; -1 when there is none. */
  revision: number;
  /** Earlier events of it were removed. */
  erased: boolean;
  /** No event of the stream has an id above this one, in the order of bytes. */
  greatestId: Uint8Array;
}

interface LatestEvent {
  /** The log's latest time, in ms. */
  time: number;
  /** The greatest id of an event of the log. */
  id: Uint8Array;
}

/** Streams whose ends are remembered, in some 250 bytes each. */
const MAX_HEADS = 50_000;
const NO_ID = new Uint8Array();

/**
 * What the writer of an event log's file knows of it without asking: the ends of streams, and the latest time. It holds until
 * another connection, here or in another process, commits, which `begin` finds out, and until a transaction fails, whose
 * writer says `forget`.
 *
 * Ids of events are made in rising order, so that a new one is above those before it; only one that is not may be a repeat
 * and has to be looked for.
 */
export class LogMemory {
  readonly #heads = new LRUCache<string, StreamHead>({ max: MAX_HEADS });
  readonly #statements;
  #dataVersion: unknown;
  #latest: LatestEvent | undefined;

  constructor(db: DatabaseSync) {
    this.#statements = {
      dataVersion: db.prepare('PRAGMA data_version'),
      latestTime: db.prepare('SELECT recorded_at AS time FROM events ORDER BY position DESC LIMIT 1'),
      greatestId: db.prepare('SELECT max(event_id) AS id FROM events'),
      head: db.prepare(
        `SELECT id, erased, (SELECT max(revision) FROM events WHERE stream_id = id) AS revision
         FROM streams WHERE name = ?`,
      ),
    };
  }

  /**
   * To be called first in each transaction of the writer. The time of the events that it appends, in ms: times never run
   * backwards, whichever process wrote before, so that "as of" and the order of events agree.
   */
  begin(): number {
    const { dataVersion, latestTime, greatestId } = this.#statements;
    const version = dataVersion.get()?.data_version;
    if (version !== this.#dataVersion) this.forget();
    this.#dataVersion = version;
    this.#latest ??= {
      time: Number(latestTime.get()?.time ?? 0),
      id: (greatestId.get()?.id ?? NO_ID) as Uint8Array,
    };
    this.#latest.time = Math.max(this.#latest.time, Date.now());
    return this.#latest.time;
  }

  /** The end of a stream; undefined when there is no such stream. */
  head(stream: string): StreamHead | undefined {
    return this.#heads.get(stream) ?? this.#readHead(stream);
  }

  /** Whether the stream can hold an event of this id already. */
  mayHold(head: StreamHead, eventId: Uint8Array): boolean {
    return Buffer.compare(eventId, head.greatestId) <= 0;
  }

  /** Takes note of an event that was appended to a stream. */
  appended(stream: string, id: number, revision: number, eventId: Uint8Array): void {
    const latest = this.#latest as LatestEvent;
    if (Buffer.compare(eventId, latest.id) > 0) latest.id = eventId;
    const head = this.#heads.get(stream);
    if (head === undefined) {
      this.#heads.set(stream, { id, revision, erased: false, greatestId: eventId });
      return;
    }
    head.revision = revision;
    if (Buffer.compare(eventId, head.greatestId) > 0) head.greatestId = eventId;
  }

  forget(): void {
    this.#heads.clear();
    this.#latest = undefined;
  }

  #readHead(stream: string): StreamHead | undefined {
    const row = this.#statements.head.get(stream);
    if (row === undefined) return undefined;
    const head: StreamHead = {
      id: row.id as number,
      revision: (row.revision ?? -1) as number,
      erased: row.erased !== null,
      greatestId: (this.#latest as LatestEvent).id,
    };
    this.#heads.set(stream, head);
    return head;
  }
}

import type { DatabaseSync } from 'node:sqlite';
import { stringify as formatUuid } from 'uuid';

/** The end of a stream. */
export interface StreamHead {
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
export class LogMemory {
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
  mayHold(head: StreamHead, eventId: string): boolean {
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

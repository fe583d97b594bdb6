import { validate as isUuid } from 'uuid';
import {
  type Appended,
  type EventBatch,
  type EventLog,
  type ExpectedRevision,
  type FollowOptions,
  MAX_EVENT_BYTES,
  type NewEvent,
  type Position,
  type ReadOptions,
  type RecordedEvent,
} from '../../ports/eventLog.ts';
import { eventTooLarge, idNotUuid } from '../../ports/eventLogRefusals.ts';
import { type Connection, connect, disconnect } from './connections.ts';
import { follow } from './follow.ts';
import { logIdentity, proveAppends } from './logIdentity.ts';

/** The event log on an EventStoreDB server or cluster, 23.10 or newer. Its user must be allowed to read `$all`. */
export class EventStoreDbEventLog implements EventLog {
  readonly timesRise = false;
  readonly #connection: Connection;
  readonly #closing = new AbortController();

  private constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Rejects with `unavailable` when the server does not answer. */
  static async open(url: string): Promise<EventStoreDbEventLog> {
    const connection = connect(url);
    try {
      await connection.reader.head();
    } catch (error) {
      await disconnect(connection);
      throw error;
    }
    return new EventStoreDbEventLog(connection);
  }

  identity(): Promise<string> {
    return logIdentity(this.#connection);
  }

  async append(stream: string, event: NewEvent, expected: ExpectedRevision): Promise<Appended> {
    checkEvent(event);
    return this.#connection.appender.append(stream, event, expected);
  }

  readStream(stream: string, options: ReadOptions): Promise<RecordedEvent[]> {
    return this.#connection.reader.readStream(stream, options);
  }

  head(): Promise<Position> {
    return this.#connection.reader.head();
  }

  async lastRecordedAt(): Promise<string | undefined> {
    const head = await this.head();
    return head === 0 ? undefined : (await this.#connection.reader.firstEntry(head))?.event?.recordedAt;
  }

  async hasPosition(position: Position): Promise<boolean> {
    return position === 0 || (await this.#connection.reader.firstEntry(position)) !== undefined;
  }

  follow(options: FollowOptions): AsyncIterable<EventBatch> {
    const signal = AbortSignal.any([options.signal, this.#closing.signal]);
    return follow(this.#connection, { ...options, signal });
  }

  async check(): Promise<void> {
    await Promise.all([this.#connection.reader.head(), proveAppends(this.#connection)]);
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    await disconnect(this.#connection);
  }
}

/** What the driver would not survive: an id that is no UUID, data that is no JSON, and too many bytes. */
function checkEvent({ id, data, metadata }: NewEvent): void {
  if (!isUuid(id)) throw idNotUuid();
  const bytes = Buffer.byteLength(JSON.stringify(data)) + Buffer.byteLength(JSON.stringify(metadata));
  if (bytes > MAX_EVENT_BYTES) throw eventTooLarge();
}

import {
  ANY,
  type EventStoreDBClient,
  jsonEvent,
  MaxAppendSizeExceededError,
  NO_STREAM,
  WrongExpectedVersionError,
} from '@eventstore/db-client';
import { validate as isUuid } from 'uuid';
import { type ServiceError, unavailable } from '../../errors.ts';
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
import { eventTooLarge, idNotUuid, versionConflict } from '../../ports/eventLogRefusals.ts';
import { attempt, TIMEOUT_MS } from './attempt.ts';
import { type Connection, connect, disconnect } from './connections.ts';
import { follow } from './follow.ts';
import { logIdentity, proveAppends } from './logIdentity.ts';
import { toPosition } from './recordedEvent.ts';

/** Appends under way at the most: beyond it callers are told to come back, so that memory stays bounded. */
const MAX_APPENDING = 20_000;

/** The event log on an EventStoreDB server or cluster, 23.10 or newer. Its user must be allowed to read `$all`. */
export class EventStoreDbEventLog implements EventLog {
  readonly timesRise = false;
  readonly #connection: Connection;
  readonly #closing = new AbortController();
  #appending = 0;

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
    if (this.#appending >= MAX_APPENDING) throw unavailable('event log');
    this.#appending += 1;
    try {
      // A try that failed may have been written. The next one has the same event id, so it is not written twice.
      return await attempt(() => appendOnce(this.#connection.appender, stream, event, expected));
    } finally {
      this.#appending -= 1;
    }
  }

  readStream(stream: string, options: ReadOptions): Promise<RecordedEvent[]> {
    return this.#connection.reader.readStream(stream, options);
  }

  head(): Promise<Position> {
    return this.#connection.reader.head();
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

async function appendOnce(
  client: EventStoreDBClient,
  stream: string,
  { id, type, data, metadata }: NewEvent,
  expected: ExpectedRevision,
): Promise<Appended> {
  const expectedRevision = expected === 'any' ? ANY : expected === 'none' ? NO_STREAM : BigInt(expected);
  const event = jsonEvent({ id, type, data, metadata: { ...metadata } });
  try {
    const appended = await client.appendToStream(stream, event, { expectedRevision, deadline: TIMEOUT_MS });
    return {
      revision: Number(appended.nextExpectedRevision),
      position: toPosition(appended.position),
    };
  } catch (error) {
    throw refusal(error) ?? error;
  }
}

function refusal(error: unknown): ServiceError | undefined {
  if (error instanceof MaxAppendSizeExceededError) return eventTooLarge();
  if (!(error instanceof WrongExpectedVersionError)) return undefined;
  const { actualVersion } = error;
  const version = typeof actualVersion === 'bigint' ? actualVersion + 1n : 0n;
  return versionConflict(version);
}

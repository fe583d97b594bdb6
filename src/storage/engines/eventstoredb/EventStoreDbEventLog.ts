import { setTimeout as sleep } from 'node:timers/promises';
import { validate as isUuid } from 'uuid';
import {
  type ErasedEvent,
  MAX_EVENT_BYTES,
  type NewEvent,
  type Position,
  type RecordedEvent,
} from '../../../domain/events/event.ts';
import { mayContain } from '../../../domain/events/streamNames.ts';
import { ServiceError, unavailable } from '../../../platform/errors.ts';
import type {
  Append,
  Appended,
  EventBatch,
  EventLog,
  ExpectedRevision,
  FollowOptions,
  Patience,
  ReadOptions,
  Removals,
} from '../../eventLog.ts';
import { eventTooLarge, idNotUuid, otherWorkspace } from '../../eventLogRefusals.ts';
import type { Scavenger } from '../../scavenger.ts';
import { appendAll } from './appendAll.ts';
import { type Connection, connect, disconnect } from './connections.ts';
import { hostsOf } from './driverUrl.ts';
import { eraseEvents } from './eraseEvents.ts';
import { follow } from './follow.ts';
import { loadDriver } from './loadDriver.ts';
import { logIdentity, proveAppends, raiseFormat } from './logIdentity.ts';
import { NodeScavenger } from './NodeScavenger.ts';
import { startProblem } from './startProblem.ts';

/** The pause between attempts to reach the server at a start. */
const RETRY_MS = 2_000;

/**
 * The event log on a server or cluster of EventStoreDB, 23.10 or newer, or KurrentDB. Its user must have permission to read
 * `$all`.
 */
export class EventStoreDbEventLog implements EventLog {
  readonly scavenger: Scavenger;
  readonly #connection: Connection;
  readonly #closing = new AbortController();

  private constructor(connection: Connection, url: string) {
    this.#connection = connection;
    this.scavenger = new NodeScavenger(connection.reader, url);
  }

  /**
   * Rejects with `unavailable`, whose `problem` names the hosts, when no server answers within `patience`, and immediately when
   * the server denies access or cannot be trusted. Rejects as `isEarlierFormat` throws when it is of a later format.
   */
  static async open(url: string, patience?: Patience): Promise<EventStoreDbEventLog> {
    const connection = connect(await loadDriver(url), url);
    try {
      await answered(connection, url, patience);
      await raiseFormat(connection, `The event log on ${hostsOf(url)}`);
      await connection.erasures.refresh();
    } catch (error) {
      await disconnect(connection);
      throw error;
    }
    return new EventStoreDbEventLog(connection, url);
  }

  identity(): Promise<string> {
    return logIdentity(this.#connection);
  }

  async append(stream: string, event: NewEvent, expected: ExpectedRevision): Promise<Appended> {
    checkEvent(stream, event);
    const { appender, erasures } = this.#connection;
    const appended = await appender.append(stream, event, expected);
    return erasures.before(stream) > 0 ? { ...appended, erased: true } : appended;
  }

  appendEach(appends: readonly Append[]): Promise<(Appended | ServiceError)[]> {
    return appendAll(appends, ({ stream, event, expected }) => this.append(stream, event, expected));
  }

  readStream(stream: string, options: ReadOptions): Promise<RecordedEvent[]> {
    return this.#connection.reader.readStream(stream, options);
  }

  erase(stream: string, before: number, erased: readonly ErasedEvent[]): Promise<void> {
    return eraseEvents(this.#connection, stream, before, erased);
  }

  async removals(after?: number): Promise<Removals> {
    const { erasures } = this.#connection;
    await erasures.refresh();
    const { length: place } = erasures.notes;
    const notes = erasures.notes.slice(after ?? place);
    return { streams: notes.map(({ stream }) => stream), place };
  }

  /** The server removes them when it scavenges. */
  async purge(): Promise<void> {}

  head(): Promise<Position> {
    return this.#connection.reader.head();
  }

  async lastRecordedAt(): Promise<string | undefined> {
    return (await this.#connection.reader.lastEvent())?.recordedAt;
  }

  async hasPosition(position: Position): Promise<boolean> {
    return position === 0 || (await this.#connection.reader.firstEntry(position)) !== undefined;
  }

  async lastBefore(position: Position): Promise<Position | undefined> {
    const head = await this.head();
    return position > head ? head : undefined;
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

async function answered({ reader }: Connection, url: string, patience: Patience | undefined): Promise<void> {
  const until = performance.now() + (patience?.ms ?? 0);
  for (;;) {
    try {
      await reader.head();
      return;
    } catch (error) {
      if (!(error instanceof ServiceError) || error.problem !== undefined) throw error;
      const { problem, lasting } = await startProblem(url);
      if (lasting || performance.now() >= until) throw unavailable('event log', error.cause, problem);
      patience?.waiting(problem);
      await sleep(RETRY_MS);
    }
  }
}

/**
 * Rejects what the driver cannot handle: an id that is not a UUID, data that is not JSON, and too many bytes; and an event of
 * another workspace than the stream's.
 */
function checkEvent(stream: string, { id, data, metadata }: NewEvent): void {
  if (!isUuid(id)) throw idNotUuid();
  if (!mayContain(stream, metadata.workspace)) throw otherWorkspace();
  const bytes = Buffer.byteLength(JSON.stringify(data)) + Buffer.byteLength(JSON.stringify(metadata));
  if (bytes > MAX_EVENT_BYTES) throw eventTooLarge();
}

import { validate as isUuid } from 'uuid';
import {
  type ErasedEvent,
  MAX_EVENT_BYTES,
  type NewEvent,
  type Position,
  type RecordedEvent,
} from '../../../domain/events/event.ts';
import { mayContain } from '../../../domain/events/streams.ts';
import { ServiceError } from '../../../platform/errors.ts';
import {
  type Append,
  type Appended,
  type EventBatch,
  type EventLog,
  type ExpectedRevision,
  eventTooLarge,
  type FollowOptions,
  idNotUuid,
  lastBeforeOmitted,
  type OmittedPositions,
  type OpenRetry,
  otherWorkspace,
  type ReadOptions,
  type Removals,
  type Scavenger,
} from '../../eventLog.ts';
import { appendAll } from './append.ts';
import { hostsOf } from './client.ts';
import { type Connection, disconnect, openConnection } from './connection.ts';
import { NodeScavenger } from './erase.ts';
import { logIdentity, makeOnce, raiseFormat } from './identity.ts';
import { copyNotes } from './positions.ts';
import { eraseEvents } from './removal.ts';
import { follow } from './subscribe.ts';

/** How long what the server has said applies while the end of the log is followed. */
const READ_AGAIN_MS = 10_000;

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
   * Rejects as `openConnection` does, as `isEarlierFormat` throws when the log is of a later format, and with `internal`, whose
   * `problem` says so, when another log is being copied to the server.
   */
  static async open(url: string, patience?: OpenRetry): Promise<EventStoreDbEventLog> {
    const connection = await openConnection(url, patience);
    try {
      const place = `The event log on ${hostsOf(url)}`;
      await raiseFormat(connection, place);
      const note = await connection.reader.readCopy();
      if (note && note.type !== copyNotes.completed) throw halfCopied(place);
      await connection.erasures.refresh();
    } catch (error) {
      await disconnect(connection);
      throw error;
    }
    return new EventStoreDbEventLog(connection, url);
  }

  async identity(): Promise<string> {
    const known = this.#connection.identity;
    if (known && this.#isUnbroken(known.at)) return known.id;
    const at = performance.now();
    const id = await logIdentity(this.#connection);
    this.#connection.identity = { id, at };
    return id;
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
    if (!this.#isUnbroken(erasures.readAt)) await erasures.refresh();
    const { length: place } = erasures.notes;
    const notes = erasures.notes.slice(after ?? place);
    return { streams: notes.map(({ stream }) => stream), place };
  }

  /** The server removes them when it scavenges. */
  async purge(): Promise<void> {}

  head(): Promise<Position> {
    return this.#connection.reader.head();
  }

  async mayHaveBehind(): Promise<boolean> {
    return true;
  }

  async lastRecordedAt(): Promise<string | undefined> {
    return (await this.#connection.reader.lastEvent())?.recordedAt;
  }

  async hasPosition(position: Position): Promise<boolean> {
    return position === 0 || (await this.#connection.reader.firstEntry(position)) !== undefined;
  }

  async lastBefore(position: Position): Promise<Position | undefined> {
    const head = await this.head();
    return position > head ? head : lastBeforeOmitted(await this.omittedPositions(), position);
  }

  async omittedPositions(): Promise<OmittedPositions[]> {
    return this.#connection.reader.positions.omitted();
  }

  /**
   * Whether the end of the log has been followed since then, on the monotonic clock, without interruption: the server is the same,
   * and has reported every removal. A connection that is dead without having ended is noticed by reading again after a while.
   */
  #isUnbroken(since: number): boolean {
    const { liveSince } = this.#connection.tail;
    return since > liveSince && performance.now() - since < READ_AGAIN_MS;
  }

  follow(options: FollowOptions): AsyncIterable<EventBatch> {
    const signal = AbortSignal.any([options.signal, this.#closing.signal]);
    return follow(this.#connection, { ...options, signal });
  }

  async check(): Promise<void> {
    // The server answers an append of an existing event as any other, but writes nothing.
    const append = async () => makeOnce(this.#connection.appending, await this.identity());
    await Promise.all([this.#connection.reader.head(), append()]);
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    await disconnect(this.#connection);
  }
}

function halfCopied(place: string): ServiceError {
  return new ServiceError('internal', 'The event log is not complete.', {
    problem: `${place} is being filled from another one. Run chartledger migrate to its end, or empty the server.`,
  });
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

import { v4 as uuidv4 } from 'uuid';
import {
  dataAs,
  type ErasedEvent,
  type EventMetadata,
  type JsonObject,
  type NewEvent,
  type Position,
} from '../../../domain/events/event.ts';
import { ServiceError, unavailable } from '../../../platform/errors.ts';
import type { CopiedPlace, LogCopy, OmittedPositions, Place } from '../../eventLog.ts';
import { hostsOf } from './client.ts';
import { type Connection, disconnect, openConnection } from './connection.ts';
import { type Driver, type DriverEvent, isDriverError, WrongStreamEnd } from './drivers/driver.ts';
import { FORMAT_STREAM, IDENTITY_STREAM, logIdentity, makeOnce, raiseFormat } from './identity.ts';
import {
  COPY_STREAM,
  type CopyCompleted,
  copyNotes,
  ORIGINAL,
  type Original,
  originalOf,
  toPosition,
} from './positions.ts';
import { isSystemStream } from './read.ts';
import { eraseEvents } from './removal.ts';

/** Number of events that are on their way to the server at the same time, and of their bytes. */
const WINDOW_EVENTS = 256;
const WINDOW_BYTES = 4 * 1024 * 1024;
/** Number of events between two notes of their positions: readers of old positions read half as many in vain. */
const MARK_EVENTS = 1_000;

/**
 * Copies another log to an EventStoreDB server. Each event is appended to its stream at its revision, with its position and time in
 * its metadata; an event without data stands for one that was erased, until `erase` removes it. Notes in a stream of their own say
 * how far positions have come, and at last that the copy is complete; until then `EventStoreDbEventLog` does not open it.
 *
 * The server commits appends of one connection in the order in which they arrive. This is checked by the places that it returns.
 */
export class EventStoreDbLogCopy implements LogCopy {
  readonly #connection: Connection;
  readonly #place: string;
  /** Position of the last event that was added, and the place that the server gave it. */
  #last = { position: 0, at: 0 };
  #sinceMark = 0;

  private constructor(connection: Connection, url: string) {
    this.#connection = connection;
    this.#place = `The event log on ${hostsOf(url)}`;
  }

  /**
   * Opens the server for a copy of the log with an identity, begun or not. Rejects with `conflict` when it holds anything else, and
   * as `openConnection` does.
   */
  static async open(url: string, identity: string): Promise<EventStoreDbLogCopy> {
    const connection = await openConnection(url);
    const copy = new EventStoreDbLogCopy(connection, url);
    try {
      await copy.#begin(identity);
      return copy;
    } catch (error) {
      await disconnect(connection);
      throw error;
    }
  }

  /** Whether the server at a URL holds nothing but a copy of the log with an identity, or nothing. Writes nothing. */
  static async accepts(url: string, identity: string): Promise<boolean> {
    const connection = await openConnection(url);
    try {
      return await acceptsCopy(connection, identity);
    } finally {
      await disconnect(connection);
    }
  }

  async isComplete(): Promise<boolean> {
    return (await this.#connection.reader.readCopy())?.type === copyNotes.completed;
  }

  async tail(): Promise<Place[]> {
    const places: Place[] = [];
    for await (const event of this.#connection.reader.backwards()) {
      const original = originalOf(event);
      if (original === undefined) continue;
      const { id, streamId: stream, revision } = event;
      places.push({ id, stream, revision: Number(revision), position: original.position });
      // What may have been on its way when it was cut off, and as much before it.
      if (places.length === 2 * WINDOW_EVENTS) break;
    }
    return places.reverse();
  }

  async add(places: readonly CopiedPlace[]): Promise<void> {
    let window: CopiedPlace[] = [];
    let bytes = 0;
    const flush = async () => {
      await this.#append(window);
      [window, bytes] = [[], 0];
    };
    for (const place of places) {
      window.push(place);
      if ('data' in place) bytes += place.data.length;
      if (window.length === WINDOW_EVENTS || bytes >= WINDOW_BYTES) await flush();
    }
    await flush();
  }

  async erase(stream: string, before: number, erased: readonly ErasedEvent[]): Promise<void> {
    await eraseEvents(this.#connection, stream, before, erased);
  }

  async finish(stream: string, event: NewEvent, omitted: readonly OmittedPositions[]): Promise<void> {
    const { after: position, position: offset } = omitted.at(-1) as OmittedPositions;
    const data: CopyCompleted = { position, offset, omitted: omitted.slice(0, -1) };
    await this.#note(copyNotes.completed, { ...data });
    await this.#connection.appender.append(stream, event, 'any');
  }

  async close(): Promise<void> {
    await disconnect(this.#connection);
  }

  async #begin(identity: string): Promise<void> {
    const { appending, reader } = this.#connection;
    if (!(await acceptsCopy(this.#connection, identity)))
      throw refused(`${this.#place} is not empty. A log can be moved only to an empty server.`);
    await raiseFormat(this.#connection, this.#place);
    await makeOnce(appending, identity);
    if ((await reader.readCopy()) === undefined) return this.#note(copyNotes.begun, { position: 0 });
    const [last] = (await this.tail()).slice(-1);
    this.#last.position = last?.position ?? 0;
    if (!(await this.isComplete())) await this.#mark();
  }

  #mark(): Promise<void> {
    this.#sinceMark = 0;
    return this.#note(copyNotes.mark, { position: this.#last.position });
  }

  async #note(type: string, data: JsonObject): Promise<void> {
    const { appender, reader } = this.#connection;
    const last = await reader.readCopy();
    const note = { id: uuidv4(), type, data, metadata: dataAs<EventMetadata>({}) };
    await appender.append(COPY_STREAM, note, last ? Number(last.revision) : 'none');
    await reader.readCopy();
  }

  /** Appends places at the same time; rejects as `add` does, and with `conflict` when they are not in their order. */
  async #append(places: readonly CopiedPlace[]): Promise<void> {
    const send = (driver: Driver) => Promise.allSettled(places.map((place) => appendCopy(driver, place)));
    const answers = await this.#connection.appending.call({ aborted: false }, send).catch((error) => {
      throw unavailable('event log', error);
    });
    for (const [index, answer] of answers.entries()) {
      const { position } = places[index] as CopiedPlace;
      if (answer.status === 'rejected') throw this.#problem(answer.reason, position);
      if (answer.value <= this.#last.at) throw this.#notNext(position);
      this.#last = { position, at: answer.value };
    }
    this.#sinceMark += places.length;
    if (this.#sinceMark >= MARK_EVENTS) await this.#mark();
  }

  #problem(error: unknown, position: Position): ServiceError {
    if (error instanceof WrongStreamEnd) return this.#notNext(position);
    if (!isDriverError(error, 'maximum-append-size-exceeded')) return unavailable('event log', error);
    return refused(
      `${this.#place} does not accept the event at position ${position}, because it is too large. Start the server with a MaxAppendSize that is 1 KiB larger, and run this again.`,
    );
  }

  #notNext(position: Position): ServiceError {
    return refused(
      `${this.#place} did not append the event at position ${position} in its place. Empty the server, and start again.`,
    );
  }
}

function refused(message: string): ServiceError {
  return new ServiceError('conflict', message);
}

/** Whether a server holds nothing, or a copy of the log with an identity. */
async function acceptsCopy(connection: Connection, identity: string): Promise<boolean> {
  const { reader } = connection;
  if ((await reader.readCopy()) !== undefined) return (await logIdentity(connection)) === identity;
  for await (const { streamId } of reader.backwards()) {
    // A command that was run on the server notes its format; a copy that was cut off at its beginning notes its identity.
    if (streamId === IDENTITY_STREAM) return (await logIdentity(connection)) === identity;
    if (!isSystemStream(streamId) && streamId !== FORMAT_STREAM) return false;
  }
  return true;
}

/** Appends a place at its revision; returns where the server has it. Rejects as `Driver.append` does. */
async function appendCopy(driver: Driver, place: CopiedPlace): Promise<Position> {
  const { stream, revision } = place;
  const expected = revision === 0 ? 'no_stream' : BigInt(revision - 1);
  const { position } = await driver.append(stream, toDriverEvent(place), expected);
  return toPosition(position);
}

function toDriverEvent(place: CopiedPlace): DriverEvent {
  const { id, position } = place;
  const of = (type: string, data: JsonObject, metadata: JsonObject, original: Original): DriverEvent => {
    const bytes = Buffer.from(JSON.stringify({ ...metadata, [ORIGINAL]: original }));
    return { id, type, data, metadata: bytes };
  };
  if ('leaf' in place) return of('EventErased', {}, {}, { position });
  if (!('data' in place)) return of(place.type, {}, {}, { position, unreadable: true });
  const { type, data, metadata, recordedAt } = place;
  return of(type, JSON.parse(data), JSON.parse(metadata), { position, recordedAt });
}

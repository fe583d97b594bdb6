import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { validate as isUuid, v4 as uuidv4, v5 as uuidv5 } from 'uuid';
import {
  dataAs,
  type ErasedEvent,
  MAX_EVENT_BYTES,
  type NewEvent,
  type Position,
  type RecordedEvent,
} from '../../../domain/events/event.ts';
import { mayContain } from '../../../domain/events/streams.ts';
import { ServiceError, unavailable } from '../../../platform/errors.ts';
import {
  type Append,
  type Appended,
  type EventBatch,
  type EventLog,
  type ExpectedRevision,
  eventTooLarge,
  type FollowOptions,
  idNotUuid,
  type OpenRetry,
  otherWorkspace,
  type ReadOptions,
  type Removals,
  type Scavenger,
} from '../../eventLog.ts';
import { isEarlierFormat, STORE_FORMAT } from '../../storeFormat.ts';
import { Appender, appendAll, TailLookup } from './append.ts';
import { DriverClient, hostsOf, loadDriver, type OpenDriver, optionOf } from './client.ts';
import { attempt, TIMEOUT_MS, WrongStreamEnd } from './drivers/driver.ts';
import { Erasures, NodeScavenger } from './erase.ts';
import { ERASURES_STREAM, type Erasure, LogReader, toRecordedEvent } from './read.ts';
import { follow, LiveTail } from './subscribe.ts';

/** What all users of one URL share within a thread. */
interface Connection {
  /**
   * For appends only. EventStoreDB's driver keeps the appends of all clients in one table, which it clears when the stream of any
   * of them breaks; if reads used the same client, one that is sent to another node would leave a second stream open.
   */
  appending: DriverClient;
  appender: Appender;
  reader: LogReader;
  erasures: Erasures;
  tail: LiveTail;
  /** The log's identity, and when it was asked for, on the monotonic clock. */
  identity?: { id: string; at: number };
  users: number;
}

const connections = new Map<string, Connection>();

/** Returns the connection to a URL, shared with its other users. Throws when the URL is not a connection string. */
function connect(open: OpenDriver, url: string): Connection {
  let connection = connections.get(url);
  if (connection === undefined) {
    const reader = new LogReader(new DriverClient(open, url));
    const appending = new DriverClient(open, url);
    const erasures = new Erasures(reader);
    const appender = new Appender(appending, new TailLookup(reader), erasures);
    const tail = new LiveTail(reader, erasures);
    connection = { appending, appender, reader, erasures, tail, users: 0 };
    connections.set(url, connection);
  }
  connection.users += 1;
  return connection;
}

/** Ends one use. Clients are disposed of when no connection is in use any more: disposing of one makes others' appends fail. */
async function disconnect(connection: Connection): Promise<void> {
  connection.users -= 1;
  const all = [...connections.values()];
  if (all.some(({ users }) => users > 0)) return;
  connections.clear();
  await Promise.all(all.flatMap(({ appending, reader }) => [appending.close(), reader.client.close()]));
}

/** Namespace of the ids of notes: repeating a note gives the same id. */
const NOTES = '5b6a6e0e-6e4f-4c5c-9a53-0a8d5f1c7b42';

const ENDS_BEFORE = 'The stream does not go on behind the events to be erased.';

/**
 * Removes a stream's events before a revision, as `EventLog.erase` does: notes it for everyone, then truncates the stream. In
 * this order, so that repeating an interrupted removal completes it.
 */
async function eraseEvents(
  connection: Connection,
  stream: string,
  before: number,
  erased: readonly ErasedEvent[],
): Promise<void> {
  const { appender, erasures, reader } = connection;
  const [behind] = await reader.readStream(stream, { from: before, limit: 1 }, toRecordedEvent);
  // A leader that has just begun may not show it yet.
  if (behind === undefined) throw unavailable('event log', new Error(ENDS_BEFORE));
  if (erased.length < before) throw new Error('An event to be erased is not among those named.');
  await erasures.refresh();
  if (erasures.before(stream) < before) {
    const positions = erased.map(({ position }) => position);
    const erasure = { stream, before, first: Math.min(...positions), last: Math.max(...positions) };
    await appender.append(ERASURES_STREAM, note(erasure), 'any');
    erasures.add(erasure);
  }
  await truncate(connection, stream, before);
}

function note(erasure: Erasure): NewEvent {
  const id = uuidv5(`${erasure.before} ${erasure.stream}`, NOTES);
  return { id, type: 'EventsErased', data: { ...erasure }, metadata: dataAs({}) };
}

/** Sets a stream's `truncateBefore`, leaving the rest of its metadata unchanged. It never decreases. */
async function truncate({ appending, reader }: Connection, stream: string, before: number): Promise<void> {
  // The driver's own metadata read returns a position as the revision.
  const metadataStream = `$$${stream}`;
  await attempt(appending, async (waiting) => {
    const options = { direction: 'backwards', limit: 1 } as const;
    const [present] = await reader.readStream(metadataStream, options, toRecordedEvent);
    if (present && Number(present.data.$tb) >= before) return;
    const metadata = { type: '$metadata', data: { ...present?.data, $tb: before } };
    const end = present ? BigInt(present.revision) : 'no_stream';
    await appending.call(waiting, (driver) => driver.append(metadataStream, metadata, end));
  });
}

/**
 * Its first event's id is the identity of the log. The event has no workspace, so it belongs to nobody; nor does the name have a
 * dot.
 */
const IDENTITY_STREAM = 'chartledger-log';

/** Its last event says of which format the log is; nobody's either. */
const FORMAT_STREAM = 'chartledger-format';

/**
 * Returns the identity of the log, creating it when there is none. Of several processes that create it at once one wins, and all
 * use its identity.
 */
async function logIdentity({ appending, reader }: Connection): Promise<string> {
  const read = async () => (await reader.readStream(IDENTITY_STREAM, { limit: 1 }, toRecordedEvent))[0]?.id;
  const found = await read();
  if (found) return found;
  await makeOnce(appending, uuidv4());
  return attempt(appending, async () => {
    const made = await read();
    if (made === undefined) throw new Error('the server does not show the identity of the log yet');
    return made;
  });
}

/**
 * Marks the log as one that this program writes. Rejects, before anything is written, as `isEarlierFormat` throws, and with
 * `unavailable`.
 */
async function raiseFormat({ appending, reader }: Connection, place: string): Promise<void> {
  const last = { direction: 'backwards', limit: 1 } as const;
  const event = { id: uuidv4(), type: 'StoreFormatRaised', data: { format: STORE_FORMAT } };
  await attempt(appending, async (waiting) => {
    const [found] = await reader.readStream(FORMAT_STREAM, last, toRecordedEvent);
    if (!isEarlierFormat(place, Number(found?.data.format ?? 0))) return;
    const end = found ? BigInt(found.revision) : 'no_stream';
    await appending.call(waiting, (driver) => driver.append(FORMAT_STREAM, event, end));
  });
}

async function makeOnce(client: DriverClient, id: string): Promise<void> {
  const event = { id, type: 'EventLogCreated', data: {} };
  await attempt(client, (waiting) =>
    client.call(waiting, async (driver) => {
      try {
        await driver.append(IDENTITY_STREAM, event, 'no_stream');
      } catch (error) {
        if (!(error instanceof WrongStreamEnd)) throw error;
      }
    }),
  );
}

/** OpenSSL's error codes for a certificate without a trusted issuer. */
const UNKNOWN_AUTHORITY = [
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
];

/** Returns why no server is found at a URL; `lasting` tells whether waiting is pointless. */
async function startProblem(url: string): Promise<{ problem: string; lasting: boolean }> {
  const hosts = hostsOf(url);
  for (const host of optionOf(url, 'tls') === 'false' ? [] : hosts) {
    const problem = certificateProblem(host, await tlsError(host, optionOf(url, 'tlsCAFile')));
    if (problem !== undefined) return { problem, lasting: true };
  }
  return { problem: `The server of the event log does not answer at ${hosts.join(', ')}.`, lasting: false };
}

function certificateProblem(host: string, code: string | undefined): string | undefined {
  if (code === undefined) return undefined;
  if (UNKNOWN_AUTHORITY.includes(code)) {
    return `The certificate of ${host} is of an unknown certificate authority (${code}): name the file of the authority's certificate in EVENT_LOG_URL (tlsCAFile).`;
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `The certificate of ${host} is for another host (${code}).`;
  if (code.startsWith('CERT_')) return `The certificate of ${host} is not valid (${code}).`;
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER') {
    return `${host} does not speak TLS (${code}): say so in EVENT_LOG_URL (tls=false), or turn TLS on there.`;
  }
  return undefined;
}

/**
 * Returns the code with which a TLS connection to a host fails, if it does. The driver does not report it when there are several
 * hosts.
 */
async function tlsError(address: string, caFile: string | undefined): Promise<string | undefined> {
  const [host = '', port] = address.split(':');
  const ca = caFile === undefined ? {} : { ca: readFileSync(caFile) };
  const socket = connectTls({ host, port: Number(port), ALPNProtocols: ['h2'], ...ca });
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(TIMEOUT_MS) });
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  } finally {
    socket.on('error', () => undefined).destroy();
  }
}

/** The pause between attempts to reach the server at a start. */
const RETRY_MS = 2_000;
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
   * Rejects with `unavailable`, whose `problem` names the hosts, when no server answers within `patience`, and immediately when
   * the server denies access or cannot be trusted. Rejects as `isEarlierFormat` throws when it is of a later format.
   */
  static async open(url: string, patience?: OpenRetry): Promise<EventStoreDbEventLog> {
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

async function answered({ reader }: Connection, url: string, patience: OpenRetry | undefined): Promise<void> {
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

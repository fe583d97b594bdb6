import { once } from 'node:events';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import {
  DamagedEvent,
  type ErasedEvent,
  type NewEvent,
  type Position,
  type RecordedEvent,
} from '../../../domain/events/event.ts';
import { ServiceError, unavailable } from '../../../platform/errors.ts';
import { isUnavailable } from '../../../platform/retry.ts';
import { workerUrl } from '../../../platform/threads/workerUrl.ts';
import {
  type Append,
  type Appended,
  type EventBatch,
  type EventLog,
  type ExpectedRevision,
  type FollowOptions,
  type OmittedPositions,
  positionUnknown,
  type ReadOptions,
  type Removals,
  type WriterLink,
} from '../../eventLog.ts';
import { fileProblem, isDamage, makeOwnedFolders, movedProblem, OpenedFiles } from '../shared.ts';
import { openForAppending, openForReading } from './eventLogFile.ts';
import {
  batchReader,
  type EventRow,
  eventColumns,
  isoTime,
  MetadataTemplates,
  PositionGaps,
  toEvents,
} from './eventRows.ts';
import { GroupCommit } from './groupCommit.ts';
import { appendGroup, appendRequest } from './protocol.ts';
import { linkedWriter, OwnWriter, type WriterSource } from './writerClient.ts';

/** From the thread: that nothing which was removed is left in the file and beside it; or SQLite's result code. */
export type PurgeMessage = { purged: true } | { errcode: number | undefined };

/**
 * Empties the write-ahead log of an event log's file, which still contains what was removed; a file that was created without
 * `secure_delete` is first rewritten, once. A separate thread waits up to ten seconds for other users of the file. Rejects with
 * `unavailable`, whose `problem` says what is wrong with the file.
 */
async function purgeFile(path: string): Promise<void> {
  const worker = new Worker(workerUrl('purgeWorker', import.meta.url), { workerData: { path } });
  const [message] = (await once(worker, 'message')) as [PurgeMessage];
  if ('purged' in message) return;
  const cause = Object.assign(new Error('purge failed'), message);
  throw unavailable('event log', cause, fileProblem(path, cause));
}

/** How often to check whether there are events; less often after a second without any. */
const POLL_MS = 20;
const IDLE_POLL_MS = 50;
const IDLE_AFTER_MS = 1_000;

/** Wakes the followers of a connection when there may be events: one timer serves all of them, and none runs without followers. */
class ChangeWatch {
  readonly #hasChanged: (seen: unknown) => boolean;
  readonly #waiting = new Map<() => void, unknown>();
  #changedAt = performance.now();
  #timer: NodeJS.Timeout | undefined;

  /** `hasChanged`: whether anything was committed since `seen`. */
  constructor(hasChanged: (seen: unknown) => boolean) {
    this.#hasChanged = hasChanged;
  }

  /** Resolves when something was committed since `seen`, at the earliest with the next check; or at the signal. */
  async changedSince(seen: unknown, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = () => resolve();
    this.#waiting.set(end, seen);
    signal.addEventListener('abort', end);
    this.#timer ??= this.#schedule();
    await promise;
    signal.removeEventListener('abort', end);
    this.#waiting.delete(end);
  }

  #schedule(): NodeJS.Timeout | undefined {
    if (this.#waiting.size === 0) return undefined;
    const isIdle = performance.now() - this.#changedAt > IDLE_AFTER_MS;
    return setTimeout(() => this.#check(), isIdle ? IDLE_POLL_MS : POLL_MS);
  }

  #check(): void {
    const changed = new Map<unknown, boolean>();
    for (const [resolve, seen] of this.#waiting) {
      if (!changed.has(seen)) changed.set(seen, this.#hasChanged(seen));
      if (!changed.get(seen)) continue;
      this.#changedAt = performance.now();
      this.#waiting.delete(resolve);
      resolve();
    }
    this.#timer = this.#schedule();
  }
}

/** For how long events gather even if they are awaited: many who wait would otherwise make each batch a single event. */
const LEAST_MS = 5;

/**
 * How a follower that has caught up lets events gather: resolves when there are events, according to `isThere`, which is asked each
 * time that they have gathered; or at the signal.
 */
export async function untilEvents(
  isThere: () => boolean,
  gather: (signal: AbortSignal, idleMs: number) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const idleSince = performance.now();
  do {
    const begun = performance.now();
    await gather(signal, begun - idleSince);
    const rest = begun + LEAST_MS - performance.now();
    if (rest > 0) await sleep(rest, undefined, { signal }).catch(() => undefined);
  } while (!signal.aborted && !isThere());
}

const STORE = 'event log';
const RETRY_MS = 250;
const FILE_CHECK_MS = 500;
/** How many of the last events are looked at for their types. */
const MOST_TYPES = 100;
/** A large group is committed in parts of this size while single appends, which would wait for it, come as well. */
const GROUP_BESIDE_SINGLES = 64;

/** The event log in one SQLite file. */
export class SqliteEventLog implements EventLog {
  readonly #path: string;
  readonly #db: DatabaseSync;
  readonly #file: OpenedFiles;
  #nextFileCheck = 0;
  /** The permanent problem that was found with the file. */
  #damage: string | undefined;
  readonly #statements;
  readonly #templates: MetadataTemplates;
  readonly #closing = new AbortController();
  readonly #source: WriterSource;
  #opening: Promise<GroupCommit> | undefined;
  #writer: GroupCommit | undefined;
  readonly #watch = new ChangeWatch((seen) => this.#changedSince(seen));
  #lastTurn = Promise.resolve();

  private constructor(path: string, db: DatabaseSync, source: WriterSource) {
    this.#path = path;
    this.#source = source;
    this.#db = db;
    this.#file = new OpenedFiles(path);
    this.#templates = new MetadataTemplates(db);
    this.#statements = {
      identity: db.prepare('SELECT identity FROM log'),
      head: db.prepare('SELECT max(position) AS head FROM events'),
      lastTypes: db.prepare('SELECT type FROM events WHERE position > ? ORDER BY position DESC LIMIT ?'),
      lastTime: db.prepare('SELECT recorded_at FROM events ORDER BY position DESC LIMIT 1'),
      dataVersion: db.prepare('PRAGMA data_version'),
      lastRemoval: db.prepare('SELECT max(erased) AS place FROM streams WHERE erased IS NOT NULL'),
      removals: db.prepare('SELECT name, erased AS place FROM streams WHERE erased > ? ORDER BY erased'),
      forwards: streamReader(db, 'e.revision >= ?', 'ASC'),
      backwards: streamReader(db, 'e.revision <= ?', 'DESC'),
    };
  }

  /**
   * Opens the log's file, creating it and its folder when they do not exist. It appends through the writer that `link` connects
   * to, if given, otherwise through its own. Rejects with `unavailable`, and as `isEarlierFormat` throws.
   */
  static async open(path: string, link?: () => Promise<WriterLink>): Promise<SqliteEventLog> {
    try {
      makeOwnedFolders(dirname(path));
      openForAppending(path).close();
      return new SqliteEventLog(path, openForReading(path), link ? linkedWriter(link) : new OwnWriter(path));
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      throw unavailable(STORE, error, fileProblem(path, error));
    }
  }

  async identity(): Promise<string> {
    return this.#reading(() => this.#statements.identity.get()?.identity as string);
  }

  async append(stream: string, event: NewEvent, expected: ExpectedRevision): Promise<Appended> {
    const request = appendRequest({ stream, event, expected });
    const writer = this.#usableWriter() ?? (await this.#openWriter());
    return writer.append(request);
  }

  async appendEach(appends: readonly Append[]): Promise<(Appended | ServiceError)[]> {
    const results: (Appended | ServiceError)[] = [];
    while (results.length < appends.length) {
      const size = this.#writer?.hasRecentSingles ? GROUP_BESIDE_SINGLES : appends.length;
      const group = appends.slice(results.length, results.length + size);
      const appended = await appendGroup(group, async (requests) => {
        const writer = this.#usableWriter() ?? (await this.#openWriter());
        return writer.appendGroup(requests);
      });
      results.push(...appended);
      // What follows would fail as well, each part after a time limit of its own.
      const failure = appended.find((result) => isUnavailable(result));
      if (failure) return appends.map((_, index) => results[index] ?? failure);
    }
    return results;
  }

  async readStream(stream: string, options: ReadOptions): Promise<RecordedEvent[]> {
    const { direction = 'forwards', limit } = options;
    const rows = this.#reading(() =>
      direction === 'forwards'
        ? this.#statements.forwards.all(stream, options.from ?? 0, limit)
        : this.#statements.backwards.all(stream, options.from ?? Number.MAX_SAFE_INTEGER, limit),
    );
    // Proofs are based on what is stored now, even if a template has been changed since.
    this.#templates.invalidate();
    const { events, unreadable } = toEvents(rows as unknown as EventRow[], this.#templates);
    if (unreadable) throw new DamagedEvent(unreadable[0]);
    return events;
  }

  async erase(stream: string, before: number, erased: readonly ErasedEvent[]): Promise<void> {
    const writer = this.#usableWriter() ?? (await this.#openWriter());
    await writer.erase({ stream, before, erased });
  }

  async removals(after?: number): Promise<Removals> {
    const { lastRemoval, removals } = this.#statements;
    if (after === undefined) {
      const place = this.#reading(() => lastRemoval.get()?.place as number | null);
      return { streams: [], place: place ?? 0 };
    }
    const rows = this.#reading(() => removals.all(after)) as { name: string; place: number }[];
    return { streams: rows.map(({ name }) => name), place: rows.at(-1)?.place ?? after };
  }

  async purge(): Promise<void> {
    this.#requireFile();
    await purgeFile(this.#path);
    this.#requireFile();
  }

  async linkWriter(): Promise<WriterLink> {
    if (this.#closing.signal.aborted) throw unavailable(STORE);
    // It would create a missing file.
    this.#requireFile();
    return this.#source.link().catch((error) => {
      throw unavailable(STORE, error, fileProblem(this.#path, error));
    });
  }

  async head(): Promise<Position> {
    return this.#reading(() => this.#head());
  }

  async mayHaveBehind(position: Position, eventTypes: readonly string[]): Promise<boolean> {
    const rows = this.#reading(() => this.#statements.lastTypes.all(position, MOST_TYPES));
    return rows.length === MOST_TYPES || rows.some(({ type }) => eventTypes.includes(String(type)));
  }

  async lastRecordedAt(): Promise<string | undefined> {
    const row = this.#reading(() => this.#statements.lastTime.get());
    return row && isoTime(row.recorded_at as number);
  }

  async hasPosition(position: Position): Promise<boolean> {
    return this.#reading(() => position <= this.#head() && !new PositionGaps(this.#db).include(position));
  }

  async lastBefore(position: Position): Promise<Position | undefined> {
    return this.#reading(() => {
      const head = this.#head();
      return position > head ? head : new PositionGaps(this.#db).lastBefore(position);
    });
  }

  async omittedPositions(): Promise<OmittedPositions[]> {
    return this.#reading(() => [...new PositionGaps(this.#db).all]);
  }

  async *follow({ after, filter, erased, gather, signal: asked }: FollowOptions): AsyncGenerator<EventBatch> {
    const signal = AbortSignal.any([asked, this.#closing.signal]);
    const pause = (ms: number) => sleep(ms, undefined, { signal }).catch(() => undefined);
    let position = after;
    let announced = false;
    let isCatchingUp = true;
    let readAfter: ((position: Position) => EventBatch | undefined) | undefined;
    for (;;) {
      // Reads are synchronous: without a pause, a follower catching up would block the thread from batch to batch.
      await (isCatchingUp ? this.#ownTurn() : nextTurn());
      if (signal.aborted) return;
      let read: { seen: unknown; batch: EventBatch | undefined };
      try {
        readAfter ??= this.#reading(() => batchReader(this.#db, filter, erased));
        const next = readAfter;
        read = this.#reading(() => ({ seen: this.#dataVersion(), batch: next(position) }));
      } catch (error) {
        if (this.#damage) throw error;
        await pause(RETRY_MS);
        continue;
      }
      const { seen, batch } = read;
      if (batch === undefined) throw positionUnknown();
      isCatchingUp = !batch.caughtUp;
      if (batch.position > position || (batch.caughtUp && !announced)) {
        announced = batch.caughtUp;
        position = batch.position;
        yield batch;
      }
      if (!batch.caughtUp) continue;
      if (gather) await untilEvents(() => this.#changedSince(seen), gather, signal);
      else await this.#watch.changedSince(seen, signal);
    }
  }

  async check(): Promise<void> {
    this.#nextFileCheck = 0;
    this.#reading(() => this.#head());
    if (this.#damage) throw unavailable(STORE, undefined, this.#damage);
    const writer = this.#usableWriter() ?? (await this.#openWriter());
    await writer.check();
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    await (await this.#opening?.catch(() => undefined))?.close();
    await this.#source.close();
    this.#db.close();
  }

  /** Resolves in a turn of the event loop that no other follower gets from here: many that catch up at once block it no longer than one. */
  #ownTurn(): Promise<void> {
    this.#lastTurn = this.#lastTurn.then(() => nextTurn());
    return this.#lastTurn;
  }

  #usableWriter(): GroupCommit | undefined {
    return this.#writer?.ended === false ? this.#writer : undefined;
  }

  /** The writer's thread starts with the first append: readers do without it. */
  async #openWriter(): Promise<GroupCommit> {
    if (this.#writer?.ended) {
      this.#writer = undefined;
      this.#opening = undefined;
    }
    // It would create a missing file.
    this.#requireFile();
    this.#opening ??= this.#source.connect().then((writer) => new GroupCommit(writer, this.#path));
    const opening = this.#opening;
    try {
      this.#writer = await opening;
      return this.#writer;
    } catch (error) {
      if (this.#opening === opening) this.#opening = undefined;
      throw unavailable(STORE, error, fileProblem(this.#path, error));
    }
  }

  /** Returns the result of `read`; driver errors become `unavailable`. */
  #reading<Result>(read: () => Result): Result {
    const now = performance.now();
    if (now >= this.#nextFileCheck) {
      this.#requireFile();
      this.#nextFileCheck = now + FILE_CHECK_MS;
    }
    try {
      return read();
    } catch (error) {
      const problem = fileProblem(this.#path, error);
      if (isDamage(error)) this.#damage = problem;
      throw unavailable(STORE, error, problem);
    }
  }

  /** Throws `unavailable` when the path no longer names the opened file. */
  #requireFile(): void {
    const moved = this.#file.moved();
    if (moved !== undefined) throw unavailable(STORE, undefined, movedProblem(moved));
  }

  #head(): Position {
    return (this.#statements.head.get()?.head as number | null) ?? 0;
  }

  /** Changes whenever another connection, in this process or another, has committed. */
  #dataVersion(): unknown {
    return this.#statements.dataVersion.get()?.data_version;
  }

  /** Also true when that cannot be determined: reading on will tell. */
  #changedSince(seen: unknown): boolean {
    try {
      return this.#dataVersion() !== seen;
    } catch {
      return true;
    }
  }
}

/** Returns a reader of a stream's rows from a revision on, which are `EventRow`s. */
function streamReader(db: DatabaseSync, from: string, order: 'ASC' | 'DESC') {
  const statement = db.prepare(
    `SELECT ${eventColumns}, s.name FROM events e JOIN streams s ON s.id = e.stream_id
     WHERE s.name = ? AND ${from} AND e.leaf IS NULL ORDER BY e.revision ${order} LIMIT ?`,
  );
  statement.setReturnArrays(true);
  return statement;
}

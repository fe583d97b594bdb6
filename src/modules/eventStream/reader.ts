import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import { erasureStep } from '../../domain/events/payloads.ts';
import { UnknownSchemaVersion, upcast } from '../../domain/events/upcasting.ts';
import type { NarrowedView } from '../../domain/records/schema/deidentification.ts';
import { asUnreadable, UnreadableError, unavailable } from '../../platform/errors.ts';
import { retryWhileUnavailable } from '../../platform/retry.ts';
import type { EventBatch, EventLog } from '../../storage/eventLog.ts';
import {
  type Change,
  type ChangedFields,
  type ChangeOrError,
  isUnchanged,
  toNarrowedEvent,
} from './changedFields.ts';
import { feedLogTypes, logFilter, type Selection, selectedAs, toEnvelope } from './cloudEvents.ts';
import { createDeidentifier, type Deidentifier, type PseudonymKey } from './deidentification.ts';
import type { DeidentificationHistory, SettingsAt } from './deidentificationSettings.ts';
import { formatPosition } from './position.ts';

/** A chunk ends with the event that takes it beyond this many bytes. Larger ones cost more to allocate than they save. */
const CHUNK_BYTES = 256 * 1024;

const encoder = new TextEncoder();
/** Where the current chunk is assembled; encoding into it is five times as fast as into fresh memory. */
let scratch = new Uint8Array(4 * CHUNK_BYTES);

/** Consecutive events of the log, as text that is created once for each view. */
export class EventStreamText {
  readonly events: RecordedEvent[];
  readonly #changes: ChangeOrError[];
  readonly #views: Views | undefined;
  readonly #texts = new Map<string, (string | undefined)[]>();

  private constructor(events: RecordedEvent[], changes: ChangeOrError[], views: Views | undefined) {
    this.events = events;
    this.#changes = changes;
    this.#views = views;
  }

  /** `views`: what makes the other views; only where one is read. Rejects with `unavailable`. */
  static async of(
    events: RecordedEvent[],
    changedFields: ChangedFields,
    views?: NarrowedViews,
  ): Promise<EventStreamText> {
    const changes = await changedFields.changes(events);
    return new EventStreamText(events, changes, views && (await viewsOf(events, views)));
  }

  /**
   * Returns what prevents reporting the event at an index in a view: it is `lost`, because it or an earlier event in its stream is
   * damaged, and is skipped; or only a newer version of the service can read it, or what a narrowed view of it depends on cannot be
   * read, and it must not be skipped, as readers rely on the order.
   */
  problem(index: number, view: Selection['view']): 'lost' | UnreadableError | undefined {
    const change = this.#changes[index];
    if (change instanceof UnknownSchemaVersion) return change;
    if (change instanceof UnreadableError) return 'lost';
    const settings = view === 'full' ? undefined : this.#settingsOf(index);
    return settings instanceof UnreadableError ? settings : undefined;
  }

  /** Whether the event at an index, which has no `problem`, changed no field. */
  isUnchanged(index: number): boolean {
    return isUnchanged(this.events[index] as RecordedEvent, this.#changes[index] as Change);
  }

  /** Returns the event at an index, which has no `problem`, as JSON. */
  json(index: number, { view, address }: Pick<Selection, 'view' | 'address'>): string {
    const key = `${view} ${address}`;
    const texts = this.#texts.get(key) ?? [];
    this.#texts.set(key, texts);
    texts[index] ??= this.#format(index, view, address);
    return texts[index];
  }

  #settingsOf(index: number): SettingsAt | UnreadableError | undefined {
    const { workspace } = (this.events[index] as RecordedEvent).metadata;
    return this.#views?.settings.get(workspace);
  }

  #format(index: number, view: Selection['view'], address: string): string {
    const event = this.events[index] as RecordedEvent;
    const change = this.#changes[index] as Change;
    const { sent, changed } = change;
    if (view !== 'full') {
      const settingsAt = this.#settingsOf(index);
      if (this.#views === undefined || typeof settingsAt !== 'function')
        throw new Error('this view of the event cannot be made');
      const narrowing = { deidentify: this.#views.deidentifier(view), settings: settingsAt(event.position) };
      return JSON.stringify(toNarrowedEvent(narrowing, event, change, address));
    }
    const envelope = JSON.stringify(toEnvelope(upcast(event), address));
    // What was sent is most of it, and is already text.
    return `${envelope.slice(0, -1)},"data":{"version":${event.revision + 1},"sent":${sent},"changed":${JSON.stringify(changed)}}}`;
  }
}

/** What makes the narrowed views. */
export interface NarrowedViews {
  deidentifier: DeidentifierOf;
  history: DeidentificationHistory;
}

/** The same for certain events. */
interface Views {
  deidentifier: DeidentifierOf;
  /** By workspace. */
  settings: ReadonlyMap<string, SettingsAt | UnreadableError>;
}

async function viewsOf(
  events: readonly RecordedEvent[],
  { deidentifier, history }: NarrowedViews,
): Promise<Views> {
  const settings = new Map<string, SettingsAt | UnreadableError>();
  for (const [workspace, some] of Map.groupBy(events, ({ metadata }) => metadata.workspace)) {
    const { position } = some.at(-1) as RecordedEvent;
    settings.set(workspace, await history.of(workspace, position).catch(asUnreadable));
  }
  return { deidentifier, settings };
}

/** Returns what creates a view. */
type DeidentifierOf = (view: NarrowedView) => Deidentifier;

/** Creates each view on first use. */
export function lazyDeidentifier(key: PseudonymKey): DeidentifierOf {
  const known = new Map<NarrowedView, Deidentifier>();
  return (view) => {
    const deidentifier = known.get(view) ?? createDeidentifier(key, view);
    known.set(view, deidentifier);
    return deidentifier;
  };
}

/** Collects events of one selection into a chunk. */
class ChunkText {
  readonly #selection: Selection;
  #length = 0;
  #first: Position | undefined;
  count = 0;

  constructor(selection: Selection) {
    this.#selection = selection;
  }

  get full(): boolean {
    return this.#length >= CHUNK_BYTES;
  }

  /** Adds the event at an index, unless the selection omits it for having changed nothing. */
  add(text: EventStreamText, index: number): void {
    const { format, unchanged } = this.#selection;
    if (unchanged === 'skip' && text.isUnchanged(index)) return;
    const json = text.json(index, this.#selection);
    const { position } = text.events[index] as RecordedEvent;
    this.#first ??= position;
    this.count += 1;
    if (format === 'ndjson') {
      this.#write(`${json}\n`);
    } else {
      this.#write(`id: ${formatPosition(position)}\ndata: ${json}\n\n`);
    }
  }

  /** Returns what was collected, up to a position. */
  end(position: Position): Chunk {
    const bytes = scratch.slice(0, this.#length);
    return { bytes, count: this.count, first: this.#first ?? position, position };
  }

  #write(frame: string): void {
    // UTF-8 takes at most three bytes per UTF-16 code unit.
    const most = this.#length + frame.length * 3;
    if (most > scratch.length) {
      const larger = new Uint8Array(most * 2);
      larger.set(scratch.subarray(0, this.#length));
      scratch = larger;
    }
    this.#length += encoder.encodeInto(frame, scratch.subarray(this.#length)).written;
  }
}

/** How long a batch is kept for a reader that does not ask for the rest of it; it is then read again. */
const BATCH_TTL_MS = 1_000;

/** Converts events in the stream to text. */
export type MakeText = (events: RecordedEvent[]) => Promise<EventStreamText>;

interface Pending {
  text: EventStreamText;
  /** Index of the next event in `text`. */
  next: number;
  batch: EventBatch;
}

/** One reader's progress through the log: reads further when asked, and holds at most one batch, for as long as it keeps asking. */
export class CatchUpSubscription {
  readonly #selection: Selection;
  readonly #wanted: Set<string>;
  readonly #makeText: MakeText;
  readonly #eventLog: EventLog;
  readonly #stop = new AbortController();
  #batches: AsyncIterator<EventBatch> | undefined;
  #idle: NodeJS.Timeout | undefined;
  #position: Position;
  /** Milliseconds since 1970: events are skipped until the first one recorded then or later. */
  #from: number | undefined;
  #pending: Pending | undefined;

  constructor(
    eventLog: EventLog,
    makeText: MakeText,
    selection: Selection,
    start: { after: Position; from: number | undefined },
  ) {
    this.#selection = selection;
    this.#wanted = new Set(selection.eventTypes);
    this.#makeText = makeText;
    this.#position = start.after;
    this.#from = start.from;
    this.#eventLog = eventLog;
  }

  /**
   * Returns the next part, of at most `limit` events. With `tail` it ends at the position that the tail has by then; without,
   * when nothing is known to lie beyond. Rejects with `unavailable`, and with `unreadable` at an event that only a newer version
   * of the service can read.
   */
  async next(limit: number, tail?: () => Position): Promise<Part> {
    clearTimeout(this.#idle);
    try {
      return await this.#next(limit, tail);
    } finally {
      if (!this.#stop.signal.aborted) this.#idle = setTimeout(() => void this.#rest(), BATCH_TTL_MS);
    }
  }

  async close(): Promise<void> {
    this.#stop.abort();
    clearTimeout(this.#idle);
    await this.#rest();
  }

  async #next(limit: number, tail: (() => Position) | undefined): Promise<Part> {
    if (tail && this.#position >= tail())
      return this.#part(new ChunkText(this.#selection), this.#position, true);
    this.#pending ??= await this.#read();
    const bound = tail?.() ?? Number.POSITIVE_INFINITY;
    const { text, batch } = this.#pending;
    const chunk = new ChunkText(this.#selection);
    let at = this.#position;
    for (; this.#pending.next < text.events.length; this.#pending.next += 1) {
      const event = text.events[this.#pending.next] as RecordedEvent;
      const { position } = event;
      if (position > bound) break;
      if (chunk.full || chunk.count === limit) return this.#part(chunk, at, false);
      if (this.#wanted.has(selectedAs(event))) {
        const problem = text.problem(this.#pending.next, this.#selection.view);
        if (problem === undefined) chunk.add(text, this.#pending.next);
        else if (problem !== 'lost') {
          if (at === this.#position) throw problem;
          return this.#part(chunk, at, false);
        }
      }
      at = position;
    }
    if (batch.position >= bound) return this.#part(chunk, bound, true);
    this.#pending = undefined;
    return this.#part(chunk, batch.position, tail === undefined && batch.caughtUp);
  }

  /** Lets go of what was read beyond the position, until the reader asks again. */
  async #rest(): Promise<void> {
    const batches = this.#batches;
    this.#batches = undefined;
    this.#pending = undefined;
    await batches?.return?.();
  }

  #part(chunk: ChunkText, position: Position, end: boolean): Part {
    this.#position = position;
    return { ...chunk.end(position), end };
  }

  async #read(): Promise<Pending> {
    const { signal } = this.#stop;
    const options = { after: this.#position, filter: logFilter(this.#selection), signal };
    this.#batches ??= this.#eventLog.follow(options)[Symbol.asyncIterator]();
    const { value: batch, done } = await this.#batches.next();
    if (done) throw unavailable('event log');
    // A workspace's streams include its audit trail.
    const events = this.#since(batch.events.filter(({ type }) => feedLogTypes.has(type)));
    // A store that is briefly unavailable does not end a stream.
    const text = await retryWhileUnavailable(() => this.#makeText(events), this.#stop.signal);
    if (text === undefined) throw unavailable('event log');
    return { text, next: 0, batch };
  }

  #since(events: RecordedEvent[]): RecordedEvent[] {
    if (this.#from === undefined) return events;
    const from = this.#from;
    const first = events.findIndex(({ recordedAt }) => Date.parse(recordedAt) >= from);
    if (first === -1) return [];
    this.#from = undefined;
    return events.slice(first);
  }
}

/**
 * Bytes kept for subscribers that are slightly behind; those further behind read the log instead. Where there are many windows, each
 * keeps less, so that together they keep no more than 64 MB.
 */
const WINDOW_BYTES = 4 * 1024 * 1024;
const ALL_WINDOWS_BYTES = 64 * 1024 * 1024;

interface BufferedChunk extends Chunk {
  /** The selection has nothing between the previous chunk and here. */
  after: Position;
}

/** The latest events of one selection, shared by all its subscribers. */
export class LiveBuffer {
  readonly #waiting = new Set<() => void>();
  #chunks: BufferedChunk[] = [];
  #bytes = 0;
  /** Everything of the selection after it is in the window or yet to come. */
  #from: Position;
  #position: Position;

  constructor(position: Position) {
    this.#from = position;
    this.#position = position;
  }

  /** How far the log is known here. */
  get position(): Position {
    return this.#position;
  }

  /**
   * Adds what was appended since the last call, up to `position`, and wakes those waiting when there is anything. `windows`: how many
   * there are.
   */
  push(chunks: Chunk[], position: Position, windows: number): void {
    const most = Math.min(WINDOW_BYTES, ALL_WINDOWS_BYTES / windows);
    for (const chunk of chunks) {
      this.#chunks.push({ ...chunk, after: this.#position });
      this.#bytes += chunk.bytes.length;
      this.#position = chunk.position;
    }
    this.#position = position;
    while (this.#bytes > most && this.#chunks.length > 1) {
      const gone = this.#chunks.shift() as BufferedChunk;
      this.#bytes -= gone.bytes.length;
      this.#from = gone.position;
    }
    if (chunks.length > 0) this.wake();
  }

  /** Erased events must not be handed out any more: only the log has what came up to here. */
  forget(): void {
    this.#chunks = [];
    this.#bytes = 0;
    this.#from = this.#position;
    this.wake();
  }

  /** From now on only the log has what follows. */
  stop(): void {
    this.#from = Number.POSITIVE_INFINITY;
    this.wake();
  }

  /** Returns what follows a position: a chunk; undefined if there is nothing yet; or `behind`, when only the log has it. */
  next(position: Position): Chunk | 'behind' | undefined {
    if (position < this.#from) return 'behind';
    const index = this.#chunks.findLastIndex((chunk) => chunk.position <= position) + 1;
    const chunk = this.#chunks[index];
    // A position within a chunk was brought along by a caller.
    return chunk && chunk.after < position ? 'behind' : chunk;
  }

  /** Resolves when there is something new, or `wake` is called. */
  wait(): Promise<void> {
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resolve of waiting) resolve();
  }
}

const filter = { eventTypes: [...feedLogTypes] };

/**
 * The growing end of the log, for all followed selections: one reader of the log, which runs while there are any. Each event is
 * converted to text once for each view, whatever the number of selections.
 */
export class LiveSubscription {
  readonly #eventLog: EventLog;
  readonly #makeText: MakeText;
  readonly #send: (reply: EventStreamReply) => void;
  readonly #stop = new AbortController();
  readonly #selections = new Map<number, Selection>();
  /** Selections that are yet to join: between two batches. */
  readonly #joining = new Map<number, Selection>();
  #position: Position | undefined;
  #working = false;

  constructor(eventLog: EventLog, makeText: MakeText, send: (reply: EventStreamReply) => void) {
    this.#eventLog = eventLog;
    this.#makeText = makeText;
    this.#send = send;
    this.#run().catch(() => this.#send({ kind: 'tailFailed' }));
  }

  /** Everything up to here was sent; 0 before the tail knows where the log ends. */
  get position(): Position {
    return this.#position ?? 0;
  }

  get empty(): boolean {
    return this.#selections.size + this.#joining.size === 0;
  }

  add(tail: number, selection: Selection): void {
    this.#joining.set(tail, selection);
    if (!this.#working) this.#join();
  }

  delete(tail: number): void {
    this.#selections.delete(tail);
    this.#joining.delete(tail);
  }

  close(): void {
    this.#stop.abort();
  }

  #join(): void {
    if (this.#position === undefined) return;
    for (const [tail, selection] of this.#joining) {
      this.#selections.set(tail, selection);
      this.#send({ kind: 'tailing', tail, position: this.#position });
    }
    this.#joining.clear();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    const after = await retryWhileUnavailable(() => this.#eventLog.head(), signal);
    if (after === undefined) return;
    this.#position = after;
    this.#join();
    for await (const batch of this.#eventLog.follow({ after, filter, signal })) {
      this.#working = true;
      const workspaces = new Set([...this.#selections.values()].map(({ workspace }) => workspace));
      const events = batch.events.filter(({ metadata }) => workspaces.has(metadata.workspace));
      const text = await retryWhileUnavailable(() => this.#makeText(events), signal);
      if (text === undefined) return;
      this.#distribute(text, batch);
      this.#working = false;
      this.#join();
    }
  }

  #distribute(text: EventStreamText, { position }: EventBatch): void {
    const byWorkspace = Map.groupBy(text.events.keys(), (index) => text.events[index]?.metadata.workspace);
    const chunks = new Map<number, Chunk[]>();
    const stopped: number[] = [];
    const erased: number[] = [];
    for (const [tail, selection] of this.#selections) {
      const indexes = byWorkspace.get(selection.workspace);
      if (indexes?.some((index) => erasureStep(text.events[index] as RecordedEvent))) erased.push(tail);
      const found = indexes && chunksOf(text, indexes, selection, position);
      if (found === 'stop') stopped.push(tail);
      else if (found) chunks.set(tail, found);
    }
    for (const tail of stopped) this.#selections.delete(tail);
    this.#position = position;
    this.#send({ kind: 'appended', position, chunks, stopped, erased });
  }
}

/** Returns the events of a selection, in chunks; the last one extends to `position`. `stop`: one of them cannot be reported. */
function chunksOf(
  text: EventStreamText,
  indexes: number[],
  selection: Selection,
  position: Position,
): Chunk[] | 'stop' {
  const chunks: Chunk[] = [];
  let chunk = new ChunkText(selection);
  let at = 0;
  for (const index of indexes) {
    const event = text.events[index] as RecordedEvent;
    if (!selection.eventTypes.includes(selectedAs(event))) continue;
    const problem = text.problem(index, selection.view);
    if (problem === 'lost') continue;
    if (problem) return 'stop';
    if (chunk.full) {
      chunks.push(chunk.end(at));
      chunk = new ChunkText(selection);
    }
    chunk.add(text, index);
    at = event.position;
  }
  if (chunk.count > 0) chunks.push(chunk.end(position));
  return chunks;
}

/** Consecutive events, ready to be sent. */
export interface Chunk {
  bytes: Uint8Array<ArrayBuffer>;
  /** Number of events; 0 when only `position` advanced. */
  count: number;
  /** Position of its first event; if empty, the same as `position`. */
  first: Position;
  /** Everything wanted up to here is in this chunk, or in an earlier one. */
  position: Position;
}

/** Part of a catch-up; `end` says that there is nothing beyond for now, or that the tail has everything that follows. */
export interface Part extends Chunk {
  end: boolean;
}

/** To the feed's thread. Readers and tails are identified by numbers that are never reused. */
export type EventStreamRequest =
  | { kind: 'pseudonyms'; key: PseudonymKey }
  | { kind: 'open'; reader: number; selection: Selection; after: Position; from: number | undefined }
  | { kind: 'read'; reader: number; limit: number; upToTail: boolean }
  | { kind: 'close'; reader: number }
  | { kind: 'tail'; tail: number; selection: Selection }
  | { kind: 'untail'; tail: number }
  | { kind: 'stop' };

/** Why reading does not go on: only a newer version of the service can read the next event, or it never goes on. */
export interface EventStreamRefusal {
  code: 'unreadable' | 'internal';
  message: string;
  problem: string | undefined;
}

/** From the feed's thread, in order of occurrence. */
export type EventStreamReply =
  /** The log is open. */
  | { kind: 'ready' }
  | { kind: 'part'; reader: number; part: Part }
  /** A store is unavailable, unless there is a `refusal`. */
  | { kind: 'failed'; reader: number; refusal?: EventStreamRefusal }
  /** The tail has every event of its selection after the position. */
  | { kind: 'tailing'; tail: number; position: Position }
  /**
   * Everything after the last such message, or after `tailing`, up to the position. Stopped ones wanted an event that cannot be
   * read, and get nothing more. For those in `erased`, something was erased that may be remembered.
   */
  | {
      kind: 'appended';
      position: Position;
      chunks: Map<number, Chunk[]>;
      stopped: number[];
      erased: number[];
    }
  | { kind: 'tailFailed' };

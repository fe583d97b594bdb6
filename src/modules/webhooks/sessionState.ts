import { LRUCache } from 'lru-cache';
import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import { asUnreadable, UnreadableError } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { Clock } from '../../storage/rateLimiters.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import type { StateStore } from '../../storage/stateStore.ts';
import { type AttemptRow, AttemptRows, type NewAttempt, recordAttempts } from './attempts.ts';
import {
  type DeliveryNote,
  type DeliveryPosition,
  type DeliveryRow,
  deliveryPartitions,
  deliveryTable,
  earlierDelivery,
  type Failed,
  failedPartition,
  loadPositions,
  readNote,
  type StoredWaiting,
  takeoverRevision,
  waitingPartition,
} from './store.ts';
import type { Webhook } from './webhook.ts';

/** Number of streams remembered. `max` would reserve the memory of all at the start. */
const remembered = { maxSize: 100_000, sizeCalculation: () => 1 };

/** Tells which events were erased after they were read: what is in memory of them is neither sent nor kept. */
export class ErasedEvents {
  readonly #eventLog: Pick<EventLog, 'removals' | 'readStream'>;
  /** Those of which something was erased. */
  readonly #streams = new LRUCache<string, true>(remembered);
  #place: number | undefined;

  constructor(eventLog: Pick<EventLog, 'removals' | 'readStream'>) {
    this.#eventLog = eventLog;
  }

  /** Notes what was erased since the last call, unless the log is unreachable; the first call only finds where to begin. */
  async refresh(): Promise<void> {
    const removals = await this.#eventLog.removals(this.#place).catch(() => undefined);
    if (removals === undefined) return;
    for (const stream of removals.streams) this.#streams.set(stream, true);
    this.#place = Math.max(this.#place ?? 0, removals.place);
  }

  /** Whether an event that was read earlier is among what was noted. Rejects with `unavailable`. */
  async has({ stream, revision }: Pick<RecordedEvent, 'stream' | 'revision'>): Promise<boolean> {
    if (!this.#streams.has(stream)) return false;
    const found = await this.#eventLog.readStream(stream, { from: revision, limit: 1 }).catch(asUnreadable);
    return !(found instanceof UnreadableError) && found[0]?.revision !== revision;
  }
}

interface ResumePorts {
  eventLog: Pick<EventLog, 'identity' | 'hasPosition' | 'readStream'>;
  /** Where earlier versions kept the state. */
  readModels: Pick<ReadModels, 'load' | 'page'>;
  /** Called when a delivery resumes from what the log says, because its state was lost or belongs to another log. */
  onStateLost(webhookId: string): void;
}

/** Where a delivery resumes. */
interface Resumed {
  at: DeliveryPosition;
  /** Whether it resumes as stored, with everything stored beside it. */
  isStored: boolean;
  waiting: StoredWaiting[];
  failed: Failed[];
}

/**
 * Resumes as stored, unless that belongs to another log, or to a later state of this log than it has: a restore.
 * Otherwise resumes from the log's own note; without one, as an earlier version of the service left it, or from the
 * webhook's start. Rejects with `unavailable`.
 */
export async function resumeDelivery(
  ports: ResumePorts,
  webhook: Webhook,
  stored: DeliveryPosition | undefined,
): Promise<Resumed> {
  const { eventLog, readModels, onStateLost } = ports;
  const log = await eventLog.identity();
  const noted = await readNote(eventLog, webhook.id);
  const revision = noted?.revision ?? -1;
  if (stored && stored.log === log && (stored.noted ?? -1) <= revision) {
    const places = await Promise.all(
      [stored.position, stored.followed].map((at) => eventLog.hasPosition(at)),
    );
    if (places.every(Boolean)) return { at: stored, isStored: true, waiting: [], failed: [] };
  }
  if (stored || noted) onStateLost(webhook.id);
  const earlier = stored || noted ? undefined : await earlierDelivery(readModels, webhook);
  const position = earlier?.position ?? noted?.note.position ?? webhook.startAfter;
  const handled = earlier?.handled ?? noted?.note.handled ?? -1;
  const at: DeliveryPosition = { log, position, followed: position, handled, blocked: 0, pending: 0 };
  if (noted) at.noted = noted.revision;
  return { at, isStored: false, waiting: earlier?.waiting ?? [], failed: earlier?.failed ?? [] };
}

export interface NotePorts {
  clock: Clock;
  /** Notes in the log how far a delivery has got; resolves with the note's revision. */
  note(webhook: Webhook, note: DeliveryNote): Promise<number>;
  /** Minimum interval between notes, for each webhook. */
  noteEveryMs: number;
}

/**
 * Notes in the log how far a delivery has got, when it has advanced and enough time has passed since the last note.
 */
export class DeliveryNotes {
  readonly #ports: NotePorts;
  readonly #state: Pick<DeliveryState, 'at' | 'settled'>;
  #notedAt: number;
  #notedHandled: number;
  #hasDelivered = false;

  constructor(ports: NotePorts, state: Pick<DeliveryState, 'at' | 'settled'>) {
    this.#ports = ports;
    this.#state = state;
    this.#notedAt = ports.clock.elapsed();
    this.#notedHandled = state.at.handled;
  }

  /** To be called when a message was delivered. */
  delivered(): void {
    this.#hasDelivered = true;
  }

  /** Whether there is something to note, now or later. */
  get isDue(): boolean {
    return this.#hasDelivered || this.#state.at.handled !== this.#notedHandled;
  }

  /**
   * Appends a note when one is due and enough time has passed; resolves with whether it did. Rejects with `unavailable`; it is then
   * due again after a while.
   */
  async appendDue(webhook: Webhook): Promise<boolean> {
    const { clock, note, noteEveryMs } = this.#ports;
    const { at, settled: position } = this.#state;
    const { handled } = at;
    if (!this.isDue || clock.elapsed() - this.#notedAt < noteEveryMs) return false;
    this.#notedAt = clock.elapsed();
    this.#hasDelivered = false;
    try {
      at.noted = await note(webhook, { position, handled });
      this.#notedHandled = handled;
      return true;
    } catch (error) {
      this.#hasDelivered = true;
      throw error;
    }
  }
}

const PAGE = 500;

/** What is waiting; `tried` and `due` are moments on the monotonic clock. */
export interface Waiting extends Omit<StoredWaiting, 'dueAt'> {
  tried: number;
  due: number;
}

type Change = Omit<DeliveryRow, 'revision'> | 'removed';

export interface DeliveryStatePorts extends ResumePorts {
  stateStore: StateStore;
  clock: Clock;
  erased: Pick<ErasedEvents, 'refresh' | 'has'>;
}

/**
 * The state of one webhook's delivery, held in memory and saved on demand by its one owner. Opening it takes it over:
 * whatever an earlier owner still saves or removes has no effect.
 */
export class DeliveryState {
  readonly at: DeliveryPosition;
  /** Whether it was opened as it had been stored. */
  readonly isStored: boolean;
  /** By key: the stream of a record, or a stream and revision. */
  readonly waiting = new Map<string, Waiting>();
  readonly #webhookId: string;
  readonly #stateStore: StateStore;
  readonly #clock: Clock;
  readonly #erased: Pick<ErasedEvents, 'refresh' | 'has'>;
  /** Of the rows saved last: rises with every attempt to save. */
  #revision: number;
  /** The revision at which the row of the position is stored. */
  #saved: number;
  #savedAt = '';
  #changes = new Map<string, Change>();
  #attempts: AttemptRow[] = [];
  readonly #attemptRows: AttemptRows;

  private constructor(
    { stateStore, clock, erased }: DeliveryStatePorts,
    webhookId: string,
    at: DeliveryPosition,
    revision: number,
    isStored: boolean,
  ) {
    this.isStored = isStored;
    this.#stateStore = stateStore;
    this.#clock = clock;
    this.#erased = erased;
    this.#webhookId = webhookId;
    this.at = at;
    this.#revision = revision;
    this.#saved = revision;
    this.#attemptRows = new AttemptRows(webhookId);
  }

  /**
   * Takes over a webhook's state, or begins a new one (`resumeDelivery`). Undefined when somebody else took it at the
   * same moment. Rejects with `unavailable`.
   */
  static async open(ports: DeliveryStatePorts, webhook: Webhook): Promise<DeliveryState | undefined> {
    const { stateStore, clock } = ports;
    const stored = (await loadPositions(stateStore, [webhook.id])).get(webhook.id);
    const { at, isStored, waiting, failed } = await resumeDelivery(ports, webhook, stored?.at);
    const revision = takeoverRevision(stored?.revision, clock.now());
    // Until it is saved again, only its own row says how far it has got.
    const { live: _live, ...begun } = at;
    const state = new DeliveryState(ports, webhook.id, begun, revision, isStored);
    if (!(await stateStore.swap(deliveryTable, state.#positionRow(revision), stored?.revision)))
      return undefined;
    await state.#adopt(isStored);
    for (const one of waiting) state.wait(state.#toWaiting(one));
    for (const one of failed) state.fail(one);
    return state;
  }

  /** Whether there is anything to save. */
  get changed(): boolean {
    if (this.#changes.size > 0 || this.#attempts.length > 0) return true;
    return JSON.stringify(this.#positionRow(0).body) !== this.#savedAt;
  }

  /** Attempts that are not saved yet. */
  get unsavedAttempts(): number {
    return this.#attempts.length;
  }

  /** The place in the log up to which everything was delivered or given up. */
  get settled(): Position {
    const places = [...this.waiting.values()].filter(({ once }) => !once).map(({ before }) => before);
    return places.reduce((lowest, place) => Math.min(lowest, place), this.at.position);
  }

  /** Whether exactly that is still waiting. */
  has(waiting: Waiting): boolean {
    return this.waiting.get(keyOf(waiting)) === waiting;
  }

  /** Makes a record or a message wait from now on, or wait for something else. */
  wait(waiting: Waiting): void {
    const key = keyOf(waiting);
    this.waiting.set(key, waiting);
    this.#changes.set(this.#rowId('waiting', key), this.#waitingRow(key, waiting));
  }

  /** Makes it wait no longer. */
  release(waiting: Waiting): void {
    const key = keyOf(waiting);
    this.waiting.delete(key);
    this.#changes.set(this.#rowId('waiting', key), 'removed');
  }

  /**
   * Sets how many messages are in memory and when the oldest was recorded: with those that are waiting, they are what
   * is pending up to where the log was read.
   */
  count({ size, oldestAt }: { size: number; oldestAt: number | undefined }): void {
    let oldest = oldestAt ?? Number.POSITIVE_INFINITY;
    let pending = size;
    for (const { once, next, last, since } of this.waiting.values()) {
      pending += once ? 1 : Math.max(1, last - next + 1);
      oldest = Math.min(oldest, since);
    }
    this.at.pending = pending;
    if (Number.isFinite(oldest)) this.at.oldestPendingAt = oldest;
    else delete this.at.oldestPendingAt;
  }

  /** Notes that a message was given up. */
  fail(failed: Failed): void {
    const id = this.#rowId('failed', failed.messageId);
    const partition = failedPartition(this.#webhookId);
    const body = { kind: 'failed', ...failed } as const;
    this.#changes.set(id, { id, partition, order: failed.position, body });
  }

  /** Notes that a message that may have been given up earlier was delivered after all. */
  recover(messageId: string): void {
    this.#changes.set(this.#rowId('failed', messageId), 'removed');
  }

  /** Resolves with the failed messages after a place in their order, which is their place in the log. */
  async failed(after: number, limit: number): Promise<Failed[]> {
    const partition = failedPartition(this.#webhookId);
    const rows = await this.#stateStore.page(deliveryTable, { partition, after, limit });
    return rows.flatMap(({ body }) => (body.kind === 'failed' ? [body] : []));
  }

  /** Adds an attempt to be recorded with the next save. */
  record(attempt: NewAttempt): void {
    this.#attempts.push(this.#attemptRows.of(attempt));
  }

  /**
   * Goes back to a place in the log, if it is an earlier one: everything after it is to be delivered again. Rejects
   * with `unavailable`.
   */
  async rewind(position: Position): Promise<void> {
    for await (const { id } of this.#rowsOf(failedPartition(this.#webhookId), position)) {
      this.#changes.set(id, 'removed');
    }
    this.at.position = Math.min(this.at.position, position);
    for (const waiting of [...this.waiting.values()]) {
      if (!waiting.once && waiting.position > position) this.release(waiting);
    }
  }

  /**
   * Saves everything that changed; resolves with false when the state no longer belongs to this owner or was lost: it
   * has to be opened anew. Rejects with `unavailable`; the next save then saves it all.
   */
  async save(): Promise<boolean> {
    const [changes, attempts] = [this.#changes, this.#attempts];
    this.#changes = new Map();
    this.#attempts = [];
    this.#revision += 1;
    const revision = this.#revision;
    const position = this.#positionRow(revision);
    const rows = [...changes.values()].flatMap((row) => (row === 'removed' ? [] : [{ ...row, revision }]));
    const removed = [...changes].flatMap(([id, row]) => (row === 'removed' ? [id] : []));
    try {
      await recordAttempts(this.#stateStore, await this.#withoutErased(attempts));
      // First what is waiting, then the position beyond it, then what no longer waits: wherever this is interrupted,
      // nothing is skipped.
      await this.#stateStore.save(deliveryTable, rows);
      if (!(await this.#stateStore.swap(deliveryTable, position, this.#saved))) return false;
      this.#saved = revision;
      this.#savedAt = JSON.stringify(position.body);
      await this.#stateStore.remove(deliveryTable, removed, revision);
      return true;
    } catch (error) {
      // Everything is to be saved with the next attempt, except for what changed again meanwhile.
      this.#changes = new Map([...changes, ...this.#changes]);
      this.#attempts = [...attempts, ...this.#attempts];
      throw error;
    }
  }

  /** Leaves out what an erasure would have removed, had it been saved before: a response may repeat what was sent. */
  async #withoutErased(attempts: AttemptRow[]): Promise<AttemptRow[]> {
    if (attempts.length > 0) await this.#erased.refresh();
    const erased = await Promise.all(attempts.map(({ body }) => body.event && this.#erased.has(body.event)));
    return attempts.filter((_, index) => !erased[index]);
  }

  /** Makes what is waiting this owner's. Rows without a position belong to a state that was lost. */
  async #adopt(isKept: boolean): Promise<void> {
    const found: DeliveryRow[] = [];
    for (const partition of deliveryPartitions(this.#webhookId)) {
      if (isKept && partition === failedPartition(this.#webhookId)) continue;
      for await (const row of this.#rowsOf(partition)) found.push({ ...row, revision: this.#revision });
    }
    if (!isKept) {
      const ids = found.map(({ id }) => id);
      return this.#stateStore.remove(deliveryTable, ids, this.#revision);
    }
    await this.#stateStore.save(deliveryTable, found);
    for (const { body } of found) {
      if (body.kind !== 'waiting') continue;
      const waiting = this.#toWaiting(body);
      this.waiting.set(keyOf(waiting), waiting);
    }
  }

  async *#rowsOf(partition: string, from = -1): AsyncGenerator<DeliveryRow> {
    for (let after = from; ; ) {
      const rows = await this.#stateStore.page(deliveryTable, { partition, after, limit: PAGE });
      yield* rows;
      const last = rows.at(-1);
      if (last === undefined || rows.length < PAGE) return;
      after = last.order;
    }
  }

  #positionRow(revision: number): DeliveryRow {
    const blocked = [...this.waiting.values()].filter(({ once }) => !once).length;
    const body = { ...this.at, kind: 'position', blocked } as const;
    return { id: this.#webhookId, partition: 'webhooks', order: 0, revision, body };
  }

  #waitingRow(key: string, { tried: _tried, due, ...waiting }: Waiting): Omit<DeliveryRow, 'revision'> {
    const partition = waitingPartition(this.#webhookId, waiting.once ?? false);
    const dueAt = Math.round(this.#clock.now() + Math.max(0, due - this.#clock.elapsed()));
    const body = { ...waiting, dueAt, kind: 'waiting' } as const;
    return { id: this.#rowId('waiting', key), partition, order: waiting.position, body };
  }

  /** However the clock was set meanwhile, it is due within the interval for which it was to wait. */
  #toWaiting({ dueAt, ...stored }: StoredWaiting): Waiting {
    const tried = this.#clock.elapsed();
    const leftMs = Math.min(Math.max(0, dueAt - this.#clock.now()), stored.delayMs);
    return { ...stored, tried, due: tried + leftMs };
  }

  #rowId(kind: 'waiting' | 'failed', key: string): string {
    return `${this.#webhookId}/${kind}/${key}`;
  }
}

function keyOf({ stream, next, once }: Pick<Waiting, 'stream' | 'next' | 'once'>): string {
  return once ? `${stream}@${next}` : stream;
}

import { z } from 'zod';
import type { Position } from '../ports/eventLog.ts';
import type { StateRow, StateStore, StateTable } from '../ports/stateStore.ts';
import { type AttemptRow, AttemptRows, type NewAttempt, recordAttempts } from './attempts.ts';
import type { Webhook } from './webhook.ts';

/** How far a webhook's delivery has come. */
const positionShape = z.object({
  kind: z.literal('position'),
  /** Up to here everything was delivered, waits or failed. */
  position: z.number(),
  /** Revision, in the stream of webhooks, of the last request that was dealt with. */
  handled: z.number(),
  /** Records that wait. */
  blocked: z.number(),
  /** Milliseconds since 1970, as all times here: of the last message that was taken. */
  lastSuccessAt: z.number().optional(),
  /** Of the first failure since. */
  failingSince: z.number().optional(),
  /** Failed messages are being tried again: those of a higher `order` are still to come. */
  retryFailedAfter: z.number().optional(),
});

/**
 * What waits for another try: a record from one of its events on, which then is behind; or, with `once`, one event that
 * is sent once more without regard to what comes after it.
 */
const waitingShape = z.object({
  kind: z.literal('waiting'),
  stream: z.string(),
  /** Revision of the event to send next. */
  next: z.number(),
  once: z.literal(true).optional(),
  /** A place in the log, at or before that event, but not before the event that precedes it in the stream. */
  position: z.number(),
  /** How often that event was tried. */
  tries: z.number(),
  dueAt: z.number(),
  /** Version of the webhook that was tried: when it has changed since, a new try is due. */
  triedVersion: z.number(),
});

/** A message that was given up. */
const failedShape = z.object({
  kind: z.literal('failed'),
  messageId: z.string(),
  stream: z.string(),
  revision: z.number(),
  position: z.number(),
});

export type DeliveryPosition = Omit<z.infer<typeof positionShape>, 'kind'>;
export type Waiting = Omit<z.infer<typeof waitingShape>, 'kind'>;
export type Failed = Omit<z.infer<typeof failedShape>, 'kind'>;
type DeliveryBody = z.infer<typeof deliveryShape>;
type DeliveryRow = StateRow<DeliveryBody>;

const deliveryShape = z.discriminatedUnion('kind', [positionShape, waitingShape, failedShape]);

/**
 * The delivery of each webhook: a row of its id, and rows of what waits for another try and of what failed. It is one
 * table, so that none of it is lost without the rest.
 */
export const deliveryTable: StateTable<DeliveryBody> = { name: 'webhook_delivery_v1', body: deliveryShape };

const PAGE = 500;
/** More than the saves that an owner who does not know yet that he was replaced can still begin. */
const TERM = 1_000_000;

/** How far these webhooks have come, by id; without those of which nothing is stored. Rejects with `unavailable`. */
export async function loadPositions(
  stateStore: StateStore,
  webhookIds: string[],
): Promise<Map<string, DeliveryPosition>> {
  const rows = await stateStore.load(deliveryTable, webhookIds);
  return new Map(rows.flatMap(({ id, body }) => (body.kind === 'position' ? [[id, body]] : [])));
}

/** The partition of what a webhook's delivery gave up, in the order of the log. */
export function failedPartition(webhookId: string): string {
  return `${webhookId}/failed`;
}

/** The partition of the records, or of the single messages, that wait. */
function waitingPartition(webhookId: string, once: boolean): string {
  return `${webhookId}/${once ? 'once' : 'waiting'}`;
}

/** The partitions of all rows of a webhook's delivery, but for its position. */
export function deliveryPartitions(webhookId: string): string[] {
  return [waitingPartition(webhookId, false), waitingPartition(webhookId, true), failedPartition(webhookId)];
}

type Change = Omit<DeliveryRow, 'revision'> | 'removed';

/**
 * The state of one webhook's delivery, in memory, and saved on demand by its one owner. Who opens it takes it over: what
 * an earlier owner still saves or removes is without effect.
 */
export class DeliveryState {
  readonly at: DeliveryPosition;
  /** By key: the stream of a record, or a stream and revision. */
  readonly waiting = new Map<string, Waiting>();
  readonly #webhookId: string;
  readonly #stateStore: StateStore;
  /** Of the rows that were saved last: rises with every try to save. */
  #revision: number;
  /** The revision at which the row of the position is stored. */
  #saved: number;
  #savedAt = '';
  #changes = new Map<string, Change>();
  #attempts: AttemptRow[] = [];
  readonly #attemptRows: AttemptRows;

  private constructor(stateStore: StateStore, webhookId: string, at: DeliveryPosition, revision: number) {
    this.#stateStore = stateStore;
    this.#webhookId = webhookId;
    this.at = at;
    this.#revision = revision;
    this.#saved = revision;
    this.#attemptRows = new AttemptRows(webhookId);
  }

  /**
   * Takes the state of a webhook over; a new one, or one that was lost, begins where the webhook starts. Undefined when
   * somebody else took it at the same moment. Rejects with `unavailable`.
   */
  static async open(
    stateStore: StateStore,
    { id, startAfter }: Webhook,
    now: number,
  ): Promise<DeliveryState | undefined> {
    const [row] = await stateStore.load(deliveryTable, [id]);
    const begin: DeliveryPosition = { position: startAfter, handled: -1, blocked: 0 };
    const at = row?.body.kind === 'position' ? row.body : begin;
    // Time makes it differ from any that was stored before the store was lost.
    const revision = Math.max((row?.revision ?? 0) + TERM, now * 1_000);
    const state = new DeliveryState(stateStore, id, { ...at }, revision);
    if (!(await stateStore.swap(deliveryTable, state.#positionRow(revision), row?.revision)))
      return undefined;
    await state.#adopt(row !== undefined);
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

  /** Whether exactly that waits still. */
  has(waiting: Waiting): boolean {
    return this.waiting.get(keyOf(waiting)) === waiting;
  }

  /** A record or a message waits from now on, or waits for something else. */
  wait(waiting: Waiting): void {
    const key = keyOf(waiting);
    this.waiting.set(key, waiting);
    this.#changes.set(this.#rowId('waiting', key), this.#waitingRow(key, waiting));
  }

  /** It no longer waits. */
  release(waiting: Waiting): void {
    const key = keyOf(waiting);
    this.waiting.delete(key);
    this.#changes.set(this.#rowId('waiting', key), 'removed');
  }

  /** A message was given up. */
  fail(failed: Failed): void {
    const id = this.#rowId('failed', failed.messageId);
    const partition = failedPartition(this.#webhookId);
    const body = { kind: 'failed', ...failed } as const;
    this.#changes.set(id, { id, partition, order: failed.position, body });
  }

  /** A message that may have been given up before was delivered after all. */
  recover(messageId: string): void {
    this.#changes.set(this.#rowId('failed', messageId), 'removed');
  }

  /** Failed messages after a place in their order, which is their place in the log. */
  async failed(after: number, limit: number): Promise<Failed[]> {
    const partition = failedPartition(this.#webhookId);
    const rows = await this.#stateStore.page(deliveryTable, { partition, after, limit });
    return rows.flatMap(({ body }) => (body.kind === 'failed' ? [body] : []));
  }

  /** An attempt to be recorded with the next save. */
  record(attempt: NewAttempt): void {
    this.#attempts.push(this.#attemptRows.of(attempt));
  }

  /**
   * Goes back to a place in the log, if it is one before: everything after it is to be delivered again. Rejects with
   * `unavailable`.
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
   * Saves all that changed; false when the state is no longer this owner's, or was lost: it is to be opened anew. Rejects with `unavailable`; the next save then saves it all.
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
      await recordAttempts(this.#stateStore, attempts);
      // First what waits, then the position beyond it, then what no longer does: cut off anywhere, nothing is skipped.
      await this.#stateStore.save(deliveryTable, rows);
      if (!(await this.#stateStore.swap(deliveryTable, position, this.#saved))) return false;
      this.#saved = revision;
      this.#savedAt = JSON.stringify(position.body);
      await this.#stateStore.remove(deliveryTable, removed, revision);
      return true;
    } catch (error) {
      // All of it is to be saved with the next try, but for what changed again meanwhile.
      this.#changes = new Map([...changes, ...this.#changes]);
      this.#attempts = [...attempts, ...this.#attempts];
      throw error;
    }
  }

  /** Makes what waits this owner's. Rows that are there without a position are of a state that was lost. */
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
      if (body.kind === 'waiting') this.waiting.set(keyOf(body), body);
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

  #waitingRow(key: string, waiting: Waiting): Omit<DeliveryRow, 'revision'> {
    const partition = waitingPartition(this.#webhookId, waiting.once ?? false);
    const body = { ...waiting, kind: 'waiting' } as const;
    return { id: this.#rowId('waiting', key), partition, order: waiting.position, body };
  }

  #rowId(kind: 'waiting' | 'failed', key: string): string {
    return `${this.#webhookId}/${kind}/${key}`;
  }
}

function keyOf({ stream, next, once }: Waiting): string {
  return once ? `${stream}@${next}` : stream;
}

import type { Position } from '../ports/eventLog.ts';
import type { ReadModels, Row } from '../ports/readModels.ts';
import { AttemptRows, type MessageEvent, type NewAttempt, recordAttempts } from './attempts.ts';
import type { Webhook } from './webhook.ts';

/**
 * How far the delivery of each webhook has come: a row of its id, and rows of what waits for another try and of what
 * failed. It is one read model, so that none of it is lost without the rest.
 */
export const deliveryModel = 'webhook_delivery_v1';

const PAGE = 500;
/** More than the saves that an owner who does not know yet that he was replaced can still begin. */
const TERM = 1_000_000;

/** Body of the row that says how far a webhook's delivery has come. */
export interface DeliveryPosition {
  /** Up to here everything was delivered, waits or failed. */
  position: Position;
  /** Revision, in the stream of webhooks, of the last request that was dealt with. */
  handled: number;
  /** Records that wait. */
  blocked: number;
  /** Milliseconds since 1970, as all times here: of the last message that was taken. */
  lastSuccessAt?: number;
  /** Of the first failure since. */
  failingSince?: number;
  /** Failed messages are being tried again: those of a higher `order` are still to come. */
  retryFailedAfter?: number;
}

/**
 * What waits for another try: a record from one of its events on, which then is behind; or, with `once`, one event that
 * is sent once more without regard to what comes after it.
 */
export interface Waiting {
  stream: string;
  /** Revision of the event to send next. */
  next: number;
  once?: true;
  /** A place in the log, at or before that event, but not before the event that precedes it in the stream. */
  position: Position;
  /** How often that event was tried. */
  tries: number;
  dueAt: number;
  /** Version of the webhook that was tried: when it has changed since, a new try is due. */
  triedVersion: number;
}

/** A message that was given up. */
export interface Failed extends MessageEvent {
  messageId: string;
  position: Position;
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

type Change = Omit<Row, 'position'> | 'removed';

/**
 * The state of one webhook's delivery, in memory, and saved on demand by its one owner. Who opens it takes it over: what
 * an earlier owner still saves or removes is without effect.
 */
export class DeliveryState {
  readonly at: DeliveryPosition;
  /** By key: the stream of a record, or a stream and revision. */
  readonly waiting = new Map<string, Waiting>();
  readonly #webhookId: string;
  readonly #readModels: ReadModels;
  /** Position of the rows that were saved last: rises with every try to save. */
  #revision: Position;
  /** The revision at which the row of the position is stored. */
  #saved: Position;
  #savedAt = '';
  #changes = new Map<string, Change>();
  #attempts: Row[] = [];
  readonly #attemptRows: AttemptRows;

  private constructor(readModels: ReadModels, webhookId: string, at: DeliveryPosition, revision: Position) {
    this.#readModels = readModels;
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
    readModels: ReadModels,
    { id, startAfter }: Webhook,
    now: number,
  ): Promise<DeliveryState | undefined> {
    const [row] = await readModels.load(deliveryModel, [id]);
    const begin: DeliveryPosition = { position: startAfter, handled: -1, blocked: 0 };
    const at = (row?.body as DeliveryPosition | undefined) ?? begin;
    // Time makes it differ from any that was stored before the read models were lost.
    const revision = Math.max((row?.position ?? 0) + TERM, now * 1_000);
    const state = new DeliveryState(readModels, id, { ...at }, revision);
    if (!(await readModels.swap(deliveryModel, state.#positionRow(revision), row?.position)))
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
  fail({ position, ...body }: Failed): void {
    const id = this.#rowId('failed', body.messageId);
    const partition = failedPartition(this.#webhookId);
    this.#changes.set(id, { id, partition, order: position, body: { ...body } });
  }

  /** A message that may have been given up before was delivered after all. */
  recover(messageId: string): void {
    this.#changes.set(this.#rowId('failed', messageId), 'removed');
  }

  /** Failed messages after a place in their order, which is their place in the log. */
  async failed(after: number, limit: number): Promise<Failed[]> {
    const partition = failedPartition(this.#webhookId);
    const rows = await this.#readModels.page(deliveryModel, { partition, after, limit });
    return rows.map(({ order, body }) => ({ ...(body as unknown as Failed), position: order }));
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
   * Saves all that changed; false when the state is no longer this owner's, or was lost with the read models: it is to
   * be opened anew. Rejects with `unavailable`; the next save then saves it all.
   */
  async save(): Promise<boolean> {
    const [changes, attempts] = [this.#changes, this.#attempts];
    this.#changes = new Map();
    this.#attempts = [];
    this.#revision += 1;
    const revision = this.#revision;
    const position = this.#positionRow(revision);
    const rows = [...changes.values()].flatMap((row) =>
      row === 'removed' ? [] : [{ ...row, position: revision }],
    );
    const removed = [...changes].flatMap(([id, row]) => (row === 'removed' ? [id] : []));
    try {
      await recordAttempts(this.#readModels, attempts);
      // First what waits, then the position beyond it, then what no longer does: cut off anywhere, nothing is skipped.
      await this.#readModels.save(deliveryModel, rows);
      if (!(await this.#readModels.swap(deliveryModel, position, this.#saved))) return false;
      this.#saved = revision;
      this.#savedAt = JSON.stringify(position.body);
      await this.#readModels.remove(deliveryModel, removed, revision);
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
    const found: Row[] = [];
    for (const partition of deliveryPartitions(this.#webhookId)) {
      if (isKept && partition === failedPartition(this.#webhookId)) continue;
      for await (const row of this.#rowsOf(partition)) found.push({ ...row, position: this.#revision });
    }
    if (!isKept) {
      const ids = found.map(({ id }) => id);
      return this.#readModels.remove(deliveryModel, ids, this.#revision);
    }
    await this.#readModels.save(deliveryModel, found);
    for (const { body } of found) {
      const waiting = body as unknown as Waiting;
      this.waiting.set(keyOf(waiting), waiting);
    }
  }

  async *#rowsOf(partition: string, from = -1): AsyncGenerator<Row> {
    for (let after = from; ; ) {
      const rows = await this.#readModels.page(deliveryModel, { partition, after, limit: PAGE });
      yield* rows;
      const last = rows.at(-1);
      if (last === undefined || rows.length < PAGE) return;
      after = last.order;
    }
  }

  #positionRow(revision: Position): Row {
    const blocked = [...this.waiting.values()].filter(({ once }) => !once).length;
    const body = { ...this.at, blocked };
    return { id: this.#webhookId, partition: 'webhooks', order: 0, position: revision, body };
  }

  #waitingRow(key: string, waiting: Waiting): Omit<Row, 'position'> {
    const partition = waitingPartition(this.#webhookId, waiting.once ?? false);
    return { id: this.#rowId('waiting', key), partition, order: waiting.position, body: { ...waiting } };
  }

  #rowId(kind: 'waiting' | 'failed', key: string): string {
    return `${this.#webhookId}/${kind}/${key}`;
  }
}

function keyOf({ stream, next, once }: Waiting): string {
  return once ? `${stream}@${next}` : stream;
}

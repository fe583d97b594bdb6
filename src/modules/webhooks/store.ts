import { v7 as uuidv7 } from 'uuid';
import { z } from 'zod';
import type { NewEvent, Position } from '../../domain/events/event.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { ReadModels, Row } from '../../storage/readModels.ts';
import type { StateRow, StateStore, StateTable } from '../../storage/stateStore.ts';
import type { Webhook } from './webhook.ts';

/**
 * What the log records from time to time about a webhook's delivery, in case the state store is lost: everything up
 * to `position` was delivered or given up, every request up to the revision `handled` was dealt with.
 */
export interface DeliveryNote {
  position: Position;
  handled: number;
}

const noteShape = z.object({ position: z.number(), handled: z.number() });

/** A stream of its own, of which only the last event is read: bookkeeping (`isBookkeeping`). */
function noteStream(webhookId: string): string {
  return `delivery-${webhookId}`;
}

/** Appends a note; resolves with its revision. Rejects with `unavailable`. */
export async function appendNote(
  eventLog: EventLog,
  { id, workspace }: Webhook,
  note: DeliveryNote,
): Promise<number> {
  const eventId = uuidv7();
  const event: NewEvent = {
    id: eventId,
    type: 'DeliveryNoted',
    data: { webhook_id: id, ...note },
    metadata: {
      workspace,
      principal: { type: 'service', id: 'webhooks' },
      requestId: eventId,
      $correlationId: eventId,
      schemaVersion: 1,
    },
  };
  return (await eventLog.append(noteStream(id), event, 'any')).revision;
}

/**
 * Resolves with the last note and its revision; undefined when there is none that can be read. Rejects with
 * `unavailable`.
 */
export async function readNote(
  eventLog: Pick<EventLog, 'readStream'>,
  webhookId: string,
): Promise<{ note: DeliveryNote; revision: number } | undefined> {
  const [event] = await eventLog.readStream(noteStream(webhookId), { direction: 'backwards', limit: 1 });
  const { data: note } = noteShape.safeParse(event?.data);
  return event && note && { note, revision: event.revision };
}

/** How far a webhook's delivery has got. Times are milliseconds since 1970. */
const positionShape = z.object({
  kind: z.literal('position'),
  /** Identity of the log that all of this refers to. */
  log: z.string(),
  /** Everything up to here was delivered, is waiting or failed. */
  position: z.number(),
  /** The log was read up to here. */
  followed: z.number(),
  /** Revision, in the stream of webhooks, of the last request that was dealt with. */
  handled: z.number(),
  /** Revision of its last note in the log. */
  noted: z.number().optional(),
  /** Records that are waiting. */
  blocked: z.number(),
  /** Messages up to `followed` that are still to be delivered. */
  pending: z.number(),
  /** When the event of the oldest of these was recorded. */
  oldestPendingAt: z.number().optional(),
  /** When the last message was accepted. */
  lastSuccessAt: z.number().optional(),
  /** The failures since then. */
  failing: z
    .object({
      /** When the first attempt failed. */
      since: z.number(),
      /** For how long attempts have failed while the service was running, in milliseconds. */
      ms: z.number(),
      /** Version of the webhook with which they were made. */
      version: z.number(),
    })
    .optional(),
  /** Why nothing can be sent. */
  problem: z.enum(['secret_unreadable']).optional(),
  /** Failed messages are being tried again: those of a higher `order` are still to come. */
  retryFailedAfter: z.number().optional(),
  /**
   * It follows the end of the log with the others of its shard. If it had everything up to `followed`, it also has everything up to
   * the shard's position.
   */
  live: z.literal(true).optional(),
});

/** How far the log was followed for all webhooks of a shard that are `live`. */
const shardShape = z.object({ kind: z.literal('shard'), log: z.string(), position: z.number() });

/**
 * What is waiting for another attempt: a record from one of its events onwards, which is then behind; or, with
 * `once`, one event that is sent once more regardless of what comes after it.
 */
const waitingShape = z.object({
  kind: z.literal('waiting'),
  stream: z.string(),
  /** Revision of the event to send next. */
  next: z.number(),
  /**
   * Revision of the record's last event up to which the log was followed; `next` or higher, apart from what was sent.
   */
  last: z.number(),
  once: z.literal(true).optional(),
  /** A place in the log, at or before that event, but not before the event that precedes it in the stream. */
  position: z.number(),
  /** A place in the log before that event: following from here yields it. */
  before: z.number(),
  /** When that event, or the one before it in the stream, was recorded; milliseconds since 1970. */
  since: z.number(),
  /** How often that event was tried. */
  tries: z.number(),
  /** How many of these attempts were due by the schedule. */
  step: z.number(),
  /** It was tried before it was due, or must not be: the endpoint named a time. */
  woken: z.boolean(),
  /** When the next attempt is due, milliseconds since 1970, and how long that was after the last one. */
  dueAt: z.number(),
  delayMs: z.number(),
  /** Version of the webhook used for the attempt: when it has changed since, a new attempt is due. */
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

const deliveryShape = z.discriminatedUnion('kind', [positionShape, waitingShape, failedShape, shardShape]);

export type DeliveryPosition = Omit<z.infer<typeof positionShape>, 'kind'>;
export type StoredWaiting = Omit<z.infer<typeof waitingShape>, 'kind'>;
export type Failed = Omit<z.infer<typeof failedShape>, 'kind'>;
export type ShardPosition = Omit<z.infer<typeof shardShape>, 'kind'>;
type DeliveryBody = z.infer<typeof deliveryShape>;
export type DeliveryRow = StateRow<DeliveryBody>;

/**
 * The delivery of each webhook: a row under its id, and rows for what is waiting for another attempt and for what
 * failed. It is one table, so that no part is lost without the rest.
 */
export const deliveryTable: StateTable<DeliveryBody> = { name: 'webhook_delivery_v1', body: deliveryShape };

/** Returns the partition of what a webhook's delivery gave up, in the order of the log. */
export function failedPartition(webhookId: string): string {
  return `${webhookId}/failed`;
}

/** Returns the partition of the records, or of the single messages, that are waiting. */
export function waitingPartition(webhookId: string, once: boolean): string {
  return `${webhookId}/${once ? 'once' : 'waiting'}`;
}

/** Returns the partitions of all rows of a webhook's delivery, except for its position. */
export function deliveryPartitions(webhookId: string): string[] {
  return [waitingPartition(webhookId, false), waitingPartition(webhookId, true), failedPartition(webhookId)];
}

/** More than the number of saves that an owner unaware of its replacement can still begin. */
const TERM = 1_000_000;

/**
 * Returns the revision with which a row is taken over from its earlier owner, at a time in milliseconds since 1970. The time makes it
 * differ from any that was stored before the store was lost.
 */
export function takeoverRevision(stored: number | undefined, now: number): number {
  return Math.max((stored ?? 0) + TERM, now * 1_000);
}

/** Instances share the webhooks by shard: a lease for each webhook would have to be renewed, however little it sends. */
export const SHARDS = 16;

/** Returns the shard of a webhook, 0 to 15, which never changes. */
export function shardOf(webhookId: string): number {
  let sum = 0;
  for (const character of webhookId) sum += character.charCodeAt(0);
  return sum % SHARDS;
}

/** Returns the id of the row with a shard's position. */
export function shardRowId(shard: number): string {
  return `shard-${shard}`;
}

/** Returns the row with a shard's position. */
export function shardRow(
  shard: number,
  { revision, ...at }: ShardPosition & { revision: number },
): DeliveryRow {
  return {
    id: shardRowId(shard),
    partition: 'shards',
    order: shard,
    revision,
    body: { ...at, kind: 'shard' },
  };
}

/** Returns how far a webhook has got, given its own row and that of its shard. */
function currentPosition(at: DeliveryPosition, shard: DeliveryBody | undefined): DeliveryPosition {
  if (!at.live || at.position < at.followed || shard?.kind !== 'shard' || shard.log !== at.log) return at;
  const position = Math.max(at.position, shard.position);
  return { ...at, position, followed: position };
}

/** A stored position and the revision of its row. */
export interface StoredPosition {
  at: DeliveryPosition;
  revision: number;
}

/**
 * Resolves with how far these webhooks have got, by id; without those for which nothing is stored. Rejects with
 * `unavailable`.
 */
export async function loadPositions(
  stateStore: StateStore,
  webhookIds: string[],
): Promise<Map<string, StoredPosition>> {
  const shards = new Set(webhookIds.map((id) => shardRowId(shardOf(id))));
  const rows = await stateStore.load(deliveryTable, [...webhookIds, ...shards]);
  const bodies = new Map(rows.map(({ id, body }) => [id, body]));
  const found = new Map<string, StoredPosition>();
  for (const { id, body, revision } of rows) {
    if (body.kind !== 'position') continue;
    const { kind: _kind, ...at } = body;
    found.set(id, { at: currentPosition(at, bodies.get(shardRowId(shardOf(id)))), revision });
  }
  return found;
}

/** Where versions before the state store kept how far webhooks had got, and other state not folded from the log. */
const MODEL = 'webhook_delivery_v1';
const MODELS = [MODEL, 'webhook_attempts_v1', 'sessions_v1', 'purge_v1'];
const PAGE = 500;

const earlierPositionShape = z.object({ position: z.number(), handled: z.number() });
const earlierWaitingShape = z.object({
  stream: z.string(),
  next: z.number(),
  once: z.literal(true).optional(),
  position: z.number(),
  tries: z.number(),
  dueAt: z.number(),
  triedVersion: z.number(),
});
const earlierFailedShape = z.object({ messageId: z.string(), stream: z.string(), revision: z.number() });

interface EarlierDelivery {
  position: number;
  handled: number;
  waiting: StoredWaiting[];
  failed: Failed[];
}

/**
 * Resolves with a webhook's delivery as an earlier version left it; undefined when there is none. Rejects with
 * `unavailable`.
 */
export async function earlierDelivery(
  readModels: Pick<ReadModels, 'load' | 'page'>,
  webhook: Webhook,
): Promise<EarlierDelivery | undefined> {
  const [row] = await readModels.load(MODEL, [webhook.id]);
  const { data: at } = earlierPositionShape.safeParse(row?.body);
  if (at === undefined) return undefined;
  const waiting: StoredWaiting[] = [];
  const failed: Failed[] = [];
  for (const partition of deliveryPartitions(webhook.id)) {
    for await (const { body, order } of rowsOf(readModels, partition)) {
      const one = earlierWaitingShape.safeParse(body).data;
      const given = earlierFailedShape.safeParse(body).data;
      if (one) waiting.push(toWaiting(one, webhook));
      else if (given) failed.push({ ...given, position: order });
    }
  }
  return { ...at, waiting, failed };
}

/** Removes what earlier versions left, once no webhook has yet to resume from it. Rejects with `unavailable`. */
export async function dropEarlierModels(
  readModels: Pick<ReadModels, 'load' | 'drop'>,
  stateStore: StateStore,
  webhookIds: string[],
): Promise<void> {
  const known = await loadPositions(stateStore, webhookIds);
  const left = await readModels.load(
    MODEL,
    webhookIds.filter((id) => !known.has(id)),
  );
  if (left.length > 0) return;
  for (const model of MODELS) await readModels.drop(model);
}

async function* rowsOf(readModels: Pick<ReadModels, 'page'>, partition: string): AsyncGenerator<Row> {
  for (let after = -1; ; ) {
    const rows = await readModels.page(MODEL, { partition, after, limit: PAGE });
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) return;
    after = last.order;
  }
}

/** Due at once; the place before it is not known, but the webhook's start will do. */
function toWaiting(
  { dueAt: _dueAt, ...waiting }: z.infer<typeof earlierWaitingShape>,
  { startAfter, enabledAt }: Webhook,
): StoredWaiting {
  const { next, tries } = waiting;
  const since = Date.parse(enabledAt);
  return {
    ...waiting,
    last: next,
    before: startAfter,
    since,
    step: tries,
    woken: false,
    dueAt: 0,
    delayMs: 0,
  };
}

const ANY = Number.MAX_SAFE_INTEGER;

/** Removes the delivery state of deleted webhooks. Can be repeated if interrupted. */
export async function removeDelivery(stateStore: StateStore, webhookIds: string[]): Promise<void> {
  for (const id of (await loadPositions(stateStore, webhookIds)).keys()) {
    for (const partition of deliveryPartitions(id)) {
      for (let count = PAGE; count === PAGE; ) {
        const rows = await stateStore.page(deliveryTable, { partition, limit: PAGE });
        await stateStore.remove(
          deliveryTable,
          rows.map((row) => row.id),
          ANY,
        );
        count = rows.length;
      }
    }
    // Last: its presence shows that there is something to remove.
    await stateStore.remove(deliveryTable, [id], ANY);
  }
}

import { z } from 'zod';
import type { StateRow, StateStore, StateTable } from '../../storage/stateStore.ts';

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
  /** Revision of its last note in the log (`deliveryNote.ts`). */
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
});

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

const deliveryShape = z.discriminatedUnion('kind', [positionShape, waitingShape, failedShape]);

export type DeliveryPosition = Omit<z.infer<typeof positionShape>, 'kind'>;
export type StoredWaiting = Omit<z.infer<typeof waitingShape>, 'kind'>;
export type Failed = Omit<z.infer<typeof failedShape>, 'kind'>;
export type DeliveryBody = z.infer<typeof deliveryShape>;
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

/**
 * Resolves with how far these webhooks have got, by id; without those for which nothing is stored. Rejects with
 * `unavailable`.
 */
export async function loadPositions(
  stateStore: StateStore,
  webhookIds: string[],
): Promise<Map<string, DeliveryPosition>> {
  const rows = await stateStore.load(deliveryTable, webhookIds);
  return new Map(rows.flatMap(({ id, body }) => (body.kind === 'position' ? [[id, body]] : [])));
}

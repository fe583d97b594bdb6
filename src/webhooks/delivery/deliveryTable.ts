import { z } from 'zod';
import type { StateRow, StateStore, StateTable } from '../../ports/stateStore.ts';

/** How far a webhook's delivery has come. Times are milliseconds since 1970. */
const positionShape = z.object({
  kind: z.literal('position'),
  /** Identity of the log that all of it is of. */
  log: z.string(),
  /** Up to here everything was delivered, waits or failed. */
  position: z.number(),
  /** Up to here the log was read. */
  followed: z.number(),
  /** Revision, in the stream of webhooks, of the last request that was dealt with. */
  handled: z.number(),
  /** Revision of the last note of it in the log (`deliveryNote.ts`). */
  noted: z.number().optional(),
  /** Records that wait. */
  blocked: z.number(),
  /** Messages up to `followed` that are yet to be delivered. */
  pending: z.number(),
  /** When the event of the oldest of these was recorded. */
  oldestPendingAt: z.number().optional(),
  /** When the last message was taken. */
  lastSuccessAt: z.number().optional(),
  /** What was not taken since. */
  failing: z
    .object({
      /** When the first try failed. */
      since: z.number(),
      /** For how long tries have failed while the service ran, in milliseconds. */
      ms: z.number(),
      /** Version of the webhook that was tried. */
      version: z.number(),
    })
    .optional(),
  /** Why nothing can be sent. */
  problem: z.enum(['secret_unreadable']).optional(),
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
  /** Revision of the last event of the record that the log was followed to; `next` or above, but for what was sent. */
  last: z.number(),
  once: z.literal(true).optional(),
  /** A place in the log, at or before that event, but not before the event that precedes it in the stream. */
  position: z.number(),
  /** A place in the log before that event: who follows from here gets it. */
  before: z.number(),
  /** When that event was recorded, or the one before it in the stream; milliseconds since 1970. */
  since: z.number(),
  /** How often that event was tried. */
  tries: z.number(),
  /** How many of these tries were due by the schedule. */
  step: z.number(),
  /** It was tried before it was due, or is not to be: the endpoint named a time. */
  woken: z.boolean(),
  /** When the next try is due, milliseconds since 1970, and how long that was after the last one. */
  dueAt: z.number(),
  delayMs: z.number(),
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

const deliveryShape = z.discriminatedUnion('kind', [positionShape, waitingShape, failedShape]);

export type DeliveryPosition = Omit<z.infer<typeof positionShape>, 'kind'>;
export type StoredWaiting = Omit<z.infer<typeof waitingShape>, 'kind'>;
export type Failed = Omit<z.infer<typeof failedShape>, 'kind'>;
export type DeliveryBody = z.infer<typeof deliveryShape>;
export type DeliveryRow = StateRow<DeliveryBody>;

/**
 * The delivery of each webhook: a row of its id, and rows of what waits for another try and of what failed. It is one
 * table, so that none of it is lost without the rest.
 */
export const deliveryTable: StateTable<DeliveryBody> = { name: 'webhook_delivery_v1', body: deliveryShape };

/** The partition of what a webhook's delivery gave up, in the order of the log. */
export function failedPartition(webhookId: string): string {
  return `${webhookId}/failed`;
}

/** The partition of the records, or of the single messages, that wait. */
export function waitingPartition(webhookId: string, once: boolean): string {
  return `${webhookId}/${once ? 'once' : 'waiting'}`;
}

/** The partitions of all rows of a webhook's delivery, but for its position. */
export function deliveryPartitions(webhookId: string): string[] {
  return [waitingPartition(webhookId, false), waitingPartition(webhookId, true), failedPartition(webhookId)];
}

/** How far these webhooks have come, by id; without those of which nothing is stored. Rejects with `unavailable`. */
export async function loadPositions(
  stateStore: StateStore,
  webhookIds: string[],
): Promise<Map<string, DeliveryPosition>> {
  const rows = await stateStore.load(deliveryTable, webhookIds);
  return new Map(rows.flatMap(({ id, body }) => (body.kind === 'position' ? [[id, body]] : [])));
}

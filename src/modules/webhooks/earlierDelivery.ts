import { z } from 'zod';
import type { ReadModels, Row } from '../../storage/readModels.ts';
import type { StateStore } from '../../storage/stateStore.ts';
import { deliveryPartitions, type Failed, loadPositions, type StoredWaiting } from './deliveryTable.ts';
import type { Webhook } from './webhook.ts';

/** Where versions before the state store kept how far webhooks had got, and other state not folded from the log. */
const MODEL = 'webhook_delivery_v1';
const MODELS = [MODEL, 'webhook_attempts_v1', 'sessions_v1', 'purge_v1'];
const PAGE = 500;

const positionShape = z.object({ position: z.number(), handled: z.number() });
const waitingShape = z.object({
  stream: z.string(),
  next: z.number(),
  once: z.literal(true).optional(),
  position: z.number(),
  tries: z.number(),
  dueAt: z.number(),
  triedVersion: z.number(),
});
const failedShape = z.object({ messageId: z.string(), stream: z.string(), revision: z.number() });

export interface EarlierDelivery {
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
  const { data: at } = positionShape.safeParse(row?.body);
  if (at === undefined) return undefined;
  const waiting: StoredWaiting[] = [];
  const failed: Failed[] = [];
  for (const partition of deliveryPartitions(webhook.id)) {
    for await (const { body, order } of rowsOf(readModels, partition)) {
      const one = waitingShape.safeParse(body).data;
      const given = failedShape.safeParse(body).data;
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
  { dueAt: _dueAt, ...waiting }: z.infer<typeof waitingShape>,
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

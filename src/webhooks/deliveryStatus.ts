import type { EventLog } from '../ports/eventLog.ts';
import type { StateStore } from '../ports/stateStore.ts';
import { deliveryTable, failedPartition, loadPositions } from './DeliveryState.ts';
import type { Webhook } from './webhook.ts';

/** Failed messages that are counted at most. */
const MAX_COUNTED = 1_000;

/** How far the delivery of a webhook's messages has come. */
export interface DeliveryStatus {
  /** Everything up to here was delivered, is waiting to be tried again, or failed. */
  position: number;
  /** 0 when nothing lies beyond `position`; else the distance between two positions, which have gaps. */
  behind: number;
  /** Records that wait because their oldest message was not taken. */
  blocked: number;
  /** Messages that were given up, at most 1,000. */
  failed: number;
  /** ISO 8601 in UTC; undefined when nothing was taken yet. */
  lastSuccessAt: string | undefined;
  /** Since when nothing is taken, ISO 8601 in UTC; undefined while the last try succeeded. */
  failingSince: string | undefined;
}

/** Every webhook's status, in their order. Rejects with `unavailable`. */
export async function deliveryStatus(
  eventLog: EventLog,
  stateStore: StateStore,
  webhooks: readonly Webhook[],
): Promise<DeliveryStatus[]> {
  const ids = webhooks.map(({ id }) => id);
  const [head, positions] = await Promise.all([eventLog.head(), loadPositions(stateStore, ids)]);
  const instant = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString());
  return Promise.all(
    webhooks.map(async ({ id, startAfter }) => {
      const at = positions.get(id);
      const position = at?.position ?? startAfter;
      const failed = await stateStore.page(deliveryTable, {
        partition: failedPartition(id),
        limit: MAX_COUNTED,
      });
      return {
        position,
        behind: Math.max(0, head - position),
        blocked: at?.blocked ?? 0,
        failed: failed.length,
        lastSuccessAt: instant(at?.lastSuccessAt),
        failingSince: instant(at?.failingSince),
      };
    }),
  );
}

import type { EventLog } from '../../storage/eventLog.ts';
import type { StateStore } from '../../storage/stateStore.ts';
import { countWanted } from './countWanted.ts';
import { type DeliveryPosition, deliveryTable, failedPartition, loadPositions } from './deliveryTable.ts';
import type { Webhook } from './webhook.ts';

/** Maximum number of messages counted, of those in the log and of those that failed. */
const MAX_COUNTED = 1_000;

/** How far the delivery of a webhook's messages has got. Times are ISO 8601 in UTC. */
export interface DeliveryStatus {
  /** Everything up to here was delivered, is waiting to be tried again, or failed. */
  position: number;
  /**
   * Messages that are waiting, also while the webhook is disabled; of those not looked at yet, at most 1,000 are
   * counted.
   */
  pending: number;
  /** When the event of the oldest of these was recorded; undefined when none is waiting. */
  oldestPendingAt: string | undefined;
  /** Records that are waiting because their oldest message was not accepted. */
  blocked: number;
  /** Messages that were given up, at most 1,000. */
  failed: number;
  /** Undefined when nothing has been accepted yet. */
  lastSuccessAt: string | undefined;
  /** Since when nothing has been accepted; undefined while the last attempt succeeded. */
  failingSince: string | undefined;
  /** Why nothing can be sent; undefined when it can. */
  problem: DeliveryPosition['problem'];
}

/** Resolves with every webhook's status, in the same order. Rejects with `unavailable`. */
export async function deliveryStatus(
  eventLog: EventLog,
  stateStore: StateStore,
  webhooks: readonly Webhook[],
): Promise<DeliveryStatus[]> {
  const ids = webhooks.map(({ id }) => id);
  const positions = await loadPositions(stateStore, ids);
  return Promise.all(
    webhooks.map(async (webhook) => {
      const partition = failedPartition(webhook.id);
      const failed = await stateStore.page(deliveryTable, { partition, limit: MAX_COUNTED });
      const at = await ofThisLog(eventLog, positions.get(webhook.id));
      const unread = await countWanted(eventLog, webhook, at?.followed ?? webhook.startAfter, MAX_COUNTED);
      return {
        position: at?.position ?? webhook.startAfter,
        pending: (at?.pending ?? 0) + unread.count,
        oldestPendingAt: instant(at?.oldestPendingAt ?? unread.oldestAt),
        blocked: at?.blocked ?? 0,
        failed: failed.length,
        lastSuccessAt: instant(at?.lastSuccessAt),
        failingSince: instant(at?.failing?.since),
        problem: at?.problem,
      };
    }),
  );
}

/** What was stored of a later state of the log than it has, after a restore, is meaningless. */
async function ofThisLog(
  eventLog: EventLog,
  at: DeliveryPosition | undefined,
): Promise<DeliveryPosition | undefined> {
  return at && (await eventLog.hasPosition(at.followed)) ? at : undefined;
}

function instant(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}

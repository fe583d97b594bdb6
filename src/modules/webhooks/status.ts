import { type DisclosedRange, type PositionRange, withRange } from '../../domain/events/payloads.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { StateStore } from '../../storage/stateStore.ts';
import { recordAccess } from '../audit/recordAccess.ts';
import { countBacklog } from '../eventStream/backlog.ts';
import { parsePosition } from '../eventStream/position.ts';
import type { Page, PageRequest } from '../records/queries/paging.ts';
import { type AttemptFilter, type DeliveryAttempt, listAttempts } from './attempts.ts';
import type { WebhookCaller } from './settings.ts';
import { type DeliveryPosition, deliveryTable, failedPartition, loadPositions } from './store.ts';
import { filterTypes, type Webhook } from './webhook.ts';

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
  /** Whether there are no more. */
  isExact: boolean;
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
      const at = await ofThisLog(eventLog, positions.get(webhook.id)?.at);
      const { workspace, unchanged = 'send' } = webhook;
      const selection = { workspace, unchanged, eventTypes: [...filterTypes(webhook)] };
      const unread = await countBacklog(eventLog, selection, at?.followed ?? webhook.startAfter, MAX_COUNTED);
      return {
        position: at?.position ?? webhook.startAfter,
        pending: (at?.pending ?? 0) + unread.count,
        isExact: unread.isExact,
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

const MAX_RANGES = 20;

/**
 * Resolves with a page of a webhook's attempts; its endpoint's responses, which may repeat what was sent, are left
 * out for callers who may not read events. The read is recorded in the audit trail before the page is returned.
 */
export async function readAttempts(
  { stateStore, eventLog }: { stateStore: StateStore; eventLog: EventLog },
  caller: WebhookCaller,
  id: string,
  request: PageRequest,
  filter: AttemptFilter | undefined,
): Promise<Page<DeliveryAttempt>> {
  const page = await listAttempts(stateStore, id, request, filter);
  const mayReadEvents = caller.permissions.includes('events');
  await recordAccess(eventLog, caller, {
    action: 'webhook.attempts',
    webhook_id: id,
    query: { ...request, ...filter },
    ...shownIn(page.items, mayReadEvents),
  });
  if (mayReadEvents) return page;
  return { ...page, items: page.items.map(({ answer: _answer, ...shown }) => shown) };
}

/**
 * Returns which events the attempts reveal: ids and versions, and where responses are shown possibly what was sent.
 */
function shownIn(items: readonly DeliveryAttempt[], withAnswers: boolean): { shown?: DisclosedRange } {
  let ranges: PositionRange[] = [];
  for (const { position } of items) {
    const at = position === undefined ? undefined : parsePosition(position);
    if (at !== undefined) ranges = withRange(ranges, { from: at, to: at }, MAX_RANGES);
  }
  if (ranges.length === 0) return {};
  return { shown: { ranges, count: items.length, ...(!withAnswers && { view: 'reference' }) } };
}

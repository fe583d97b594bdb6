import { recordAccess } from '../../audit/recordAccess.ts';
import { type PositionRange, type Shown, withRange } from '../../events/shown.ts';
import { parsePosition } from '../../feed/position.ts';
import type { EventLog } from '../../ports/eventLog.ts';
import type { StateStore } from '../../ports/stateStore.ts';
import type { Page, PageRequest } from '../../reads/page.ts';
import { type AttemptFilter, type DeliveryAttempt, listAttempts } from '../delivery/attempts.ts';
import type { WebhookCaller } from './payloadPermissions.ts';

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
function shownIn(items: readonly DeliveryAttempt[], withAnswers: boolean): { shown?: Shown } {
  let ranges: PositionRange[] = [];
  for (const { position } of items) {
    const at = position === undefined ? undefined : parsePosition(position);
    if (at !== undefined) ranges = withRange(ranges, { from: at, to: at }, MAX_RANGES);
  }
  if (ranges.length === 0) return {};
  return { shown: { ranges, count: items.length, ...(!withAnswers && { view: 'reference' }) } };
}

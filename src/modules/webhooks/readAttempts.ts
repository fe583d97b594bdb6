import { type PositionRange, type Shown, withRange } from '../../domain/events/shown.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { StateStore } from '../../storage/stateStore.ts';
import { recordAccess } from '../audit/recordAccess.ts';
import { parsePosition } from '../eventStream/position.ts';
import type { Page, PageRequest } from '../records/queries/page.ts';
import { type AttemptFilter, type DeliveryAttempt, listAttempts } from './attempts.ts';
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

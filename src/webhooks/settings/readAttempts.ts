import { recordAccess } from '../../audit/recordAccess.ts';
import type { EventLog } from '../../ports/eventLog.ts';
import type { StateStore } from '../../ports/stateStore.ts';
import type { Page, PageRequest } from '../../reads/page.ts';
import { type AttemptFilter, type DeliveryAttempt, listAttempts } from '../delivery/attempts.ts';
import type { WebhookCaller } from './payloadPermissions.ts';

/**
 * A page of a webhook's attempts; what its endpoint answered, which may repeat what it was sent, is left out for whoever
 * may not read events. The read is in the audit trail before it is given.
 */
export async function readAttempts(
  { stateStore, eventLog }: { stateStore: StateStore; eventLog: EventLog },
  caller: WebhookCaller,
  id: string,
  request: PageRequest,
  filter: AttemptFilter | undefined,
): Promise<Page<DeliveryAttempt>> {
  const page = await listAttempts(stateStore, id, request, filter);
  const access = { action: 'webhook.attempts', webhook_id: id, query: { ...request, ...filter } } as const;
  await recordAccess(eventLog, caller, access);
  if (caller.permissions.includes('events')) return page;
  return { ...page, items: page.items.map(({ answer: _answer, ...shown }) => shown) };
}

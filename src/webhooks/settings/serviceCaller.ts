import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../../events/newEvent.ts';
import type { Webhook } from './webhook.ts';

/** The part of the service that sends messages, for what it does on its own account. */
export function serviceCaller({ workspace }: Pick<Webhook, 'workspace'>): Caller {
  return { workspace, principal: { type: 'service', id: 'webhooks' }, requestId: uuidv7() };
}

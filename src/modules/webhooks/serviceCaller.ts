import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../../domain/events/newEvent.ts';
import type { Webhook } from './webhook.ts';

/** Returns the caller for what the part of the service that sends messages does on its own behalf. */
export function serviceCaller({ workspace }: Pick<Webhook, 'workspace'>): Caller {
  return { workspace, principal: { type: 'service', id: 'webhooks' }, requestId: uuidv7() };
}

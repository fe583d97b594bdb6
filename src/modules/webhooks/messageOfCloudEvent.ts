import type { CloudEvent } from '../eventStream/cloudEvent.ts';
import type { Webhook } from './webhook.ts';
import { bodyOf, messageId, type ReferenceData, type WebhookMessage } from './webhookMessage.ts';

/**
 * Returns the message that tells a webhook of an event, built from its form in the event stream: the de-identified
 * view for a payload of that name, otherwise the full one.
 */
export function messageOfCloudEvent(
  { id, payload }: Pick<Webhook, 'id' | 'payload'>,
  event: CloudEvent,
): WebhookMessage {
  const body = bodyOf(event, outcomeOf(event), payload === 'reference');
  return { id: messageId(id, event.id), body, traceparent: event.traceparent };
}

function outcomeOf({ type, data: { changed } }: CloudEvent): ReferenceData['outcome'] {
  if (/[._]erased\.v\d+$/.test(type)) return 'erased';
  if (/\.removed\.v\d+$/.test(type)) return 'removed';
  // Only the first version includes the id, which never changes.
  if (changed.includes('id') || changed.includes('document_id')) return 'created';
  return changed.length > 0 ? 'updated' : 'unchanged';
}

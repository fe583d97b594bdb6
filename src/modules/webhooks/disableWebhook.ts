import { newEvent } from '../../domain/events/newEvent.ts';
import { serviceCaller } from './serviceCaller.ts';
import type { WebhookDirectory } from './WebhookDirectory.ts';
import type { DisabledReason, Webhook } from './webhook.ts';

/**
 * Disables a webhook on the service's own behalf. Changes nothing when somebody disabled or deleted it, enabled it
 * again or gave it another URL since `webhook` was read: what was found out then no longer holds.
 */
export async function disableWebhook(
  directory: WebhookDirectory,
  webhook: Webhook,
  reason: Extract<DisabledReason, 'gone' | 'failing'>,
): Promise<void> {
  const caller = serviceCaller(webhook);
  await directory.change(({ webhooks }) => {
    const { state, url, enabledAt } = webhooks.get(webhook.id) ?? webhook;
    if (state !== 'enabled' || url !== webhook.url || enabledAt !== webhook.enabledAt) return undefined;
    return newEvent(caller, 'WebhookDisabled', { webhook_id: webhook.id, reason });
  });
}

import { formatPosition } from '../feed/position.ts';
import type { DeliveryStatus } from './deliveryStatus.ts';
import { validSecrets, type Webhook } from './webhook.ts';

/** A webhook as people see it: without its secrets. */
export function toWebhookView(webhook: Webhook) {
  const { id, url, description, kinds, types, payload, startAfter, state, disabledReason, secrets } = webhook;
  const [, previous] = validSecrets(secrets, Date.now());
  return {
    id,
    url,
    description: description ?? null,
    kinds: kinds ?? null,
    types: types ?? null,
    payload,
    start_after: formatPosition(startAfter),
    state,
    disabled_reason: disabledReason ?? null,
    previous_secret_expires_at: previous?.expiresAt ?? null,
    created_at: webhook.createdAt,
    updated_at: webhook.updatedAt,
  };
}

/** A webhook, and how its delivery does. */
export function toWebhookStatusView(webhook: Webhook, delivery: DeliveryStatus) {
  const { position, behind, blocked, failed, lastSuccessAt, failingSince } = delivery;
  return {
    ...toWebhookView(webhook),
    delivery: {
      position: formatPosition(position),
      behind,
      blocked,
      failed,
      last_success_at: lastSuccessAt ?? null,
      failing_since: failingSince ?? null,
    },
  };
}

export type WebhookStatusView = ReturnType<typeof toWebhookStatusView>;

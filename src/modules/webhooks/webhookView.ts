import { everyTerm } from '../../domain/events/disclosureTerms.ts';
import type { Principal } from '../../domain/events/eventMetadata.ts';
import { formatPosition } from '../eventStream/position.ts';
import type { DeliveryStatus } from './deliveryStatus.ts';
import { validSecrets, type Webhook } from './webhook.ts';

/** Returns a webhook as people see it: without its secrets; `nameOf` knows the names of those who created it. */
export function toWebhookView(webhook: Webhook, nameOf: (principal: Principal) => string | undefined) {
  const { id, url, description, kinds, types, payload, startAfter, state, disabledReason, secrets } = webhook;
  const [, previous] = validSecrets(secrets, Date.now());
  return {
    id,
    url,
    description: description ?? null,
    kinds: kinds ?? null,
    types: types ?? null,
    payload,
    unchanged: webhook.unchanged ?? ('send' as const),
    ...everyTerm(webhook),
    start_after: formatPosition(startAfter),
    // A webhook that is deleted while the change before it is answered no longer sends anything.
    state: state === 'enabled' ? state : ('disabled' as const),
    disabled_reason: disabledReason ?? null,
    previous_secret_expires_at: previous?.expiresAt ?? null,
    created_at: webhook.createdAt,
    created_by: { ...webhook.createdBy, name: nameOf(webhook.createdBy) ?? null },
    updated_at: webhook.updatedAt,
  };
}

/** Returns a webhook as people see it, with its delivery status. */
export function toWebhookStatusView(view: WebhookView, delivery: DeliveryStatus) {
  const { position, pending, oldestPendingAt, blocked, failed, lastSuccessAt, failingSince, problem } =
    delivery;
  return {
    ...view,
    delivery: {
      position: formatPosition(position),
      pending,
      oldest_pending_at: oldestPendingAt ?? null,
      blocked,
      failed,
      last_success_at: lastSuccessAt ?? null,
      failing_since: failingSince ?? null,
      problem: problem ?? null,
    },
  };
}

export type WebhookView = ReturnType<typeof toWebhookView>;
export type WebhookStatusView = ReturnType<typeof toWebhookStatusView>;

import type { WebhookManager } from '../../modules/webhooks/WebhookManager.ts';
import type { WebhookStatusView } from '../../modules/webhooks/webhookView.ts';
import { type Html, html } from '../components/html.ts';
import type { Visit } from '../components/route.ts';
import { badge, timeAgo } from '../components/text.ts';

const disabledTexts: Record<string, string> = {
  caller: 'disabled manually',
  key_deleted: 'the API key that created it was deleted',
  gone: 'its endpoint responded 410 Gone',
  failing: 'its endpoint accepted nothing for days',
};

/** Returns a webhook's state, and the reason. */
export function webhookState({ state, disabled_reason, delivery }: WebhookStatusView): Html {
  if (state === 'disabled') {
    return html`${badge('disabled', 'bad')}<br>${disabledTexts[disabled_reason ?? '']}`;
  }
  const { failing_since, problem } = delivery;
  if (problem === 'secret_unreadable') {
    return html`${badge('blocked', 'bad')}<br>its secret cannot be decrypted with the service’s key (WEBHOOK_SECRETS_KEY): rotate the secret`;
  }
  if (failing_since !== null) return html`${badge('failing', 'bad')}<br>since ${timeAgo(failing_since)}`;
  return badge('enabled', 'good');
}

/** Returns how many messages are waiting, and since when the oldest has been. */
export function pendingText({
  pending,
  oldest_pending_at: oldest,
}: WebhookStatusView['delivery']): Html | string {
  if (pending === 0 || oldest === null) return 'none';
  return html`${pending.toLocaleString('en-US')}, oldest ${timeAgo(oldest)}`;
}

/** Returns a note that nothing is sent while the workspace is deactivated; undefined while it is active. */
export function pausedNote(webhooks: WebhookManager, { workspace }: Visit): Html | undefined {
  if (!webhooks.isDeactivated(workspace)) return undefined;
  return html`<p class="error" role="alert">The workspace is deactivated: nothing is sent until it is activated again.</p>`;
}

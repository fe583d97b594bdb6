import type { WebhookStatusView } from '../../../webhooks/webhookView.ts';
import { badge, timeAgo } from '../components/text.ts';
import { type Html, html } from '../html.ts';

const disabledTexts: Record<string, string> = {
  caller: 'somebody disabled it',
  gone: 'its endpoint answered 410: gone for good',
  failing: 'its endpoint took nothing for days',
};

/** How a webhook stands, and why. */
export function webhookState({ state, disabled_reason, delivery }: WebhookStatusView): Html {
  if (state === 'disabled') {
    return html`${badge('disabled', 'bad')}<br>${disabledTexts[disabled_reason ?? '']}`;
  }
  const { failing_since } = delivery;
  if (failing_since !== null) return html`${badge('failing', 'bad')}<br>since ${timeAgo(failing_since)}`;
  return badge('enabled', 'good');
}

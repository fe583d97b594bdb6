import type { WebhookManager } from '../../webhooks/manageWebhooks.ts';
import type { WebhookStatusView } from '../../webhooks/webhookView.ts';

/** The webhooks of a workspace that send nothing: disabled, or not taken since their last try. Rejects with `unavailable`. */
export async function webhookProblems(
  { webhooks }: { webhooks: WebhookManager },
  workspace: string,
): Promise<WebhookStatusView[]> {
  const views = await webhooks.views(await webhooks.list(workspace));
  return views.filter(({ state, delivery }) => state === 'disabled' || delivery.failing_since !== null);
}

import type { ReadModels } from '../ports/readModels.ts';
import { type DeliveryPosition, deliveryModel } from './DeliveryState.ts';
import type { WebhookManager } from './manageWebhooks.ts';

/** How many webhooks of a workspace send nothing. */
export interface WebhookProblems {
  disabled: number;
  /** Enabled, but their last try was not taken. */
  failing: number;
}

/** Counts the webhooks of a workspace that send nothing. Rejects with `unavailable`. */
export async function webhookProblems(
  { webhooks, readModels }: { webhooks: WebhookManager; readModels: ReadModels },
  workspace: string,
): Promise<WebhookProblems> {
  const all = await webhooks.all(workspace);
  const enabled = all.filter(({ state }) => state === 'enabled').map(({ id }) => id);
  const rows = await readModels.load(deliveryModel, enabled);
  const failing = rows.filter(
    ({ body }) => (body as unknown as DeliveryPosition).failingSince !== undefined,
  ).length;
  return { disabled: all.length - enabled.length, failing };
}

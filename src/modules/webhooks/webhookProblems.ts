import type { StateStore } from '../../storage/stateStore.ts';
import { loadPositions } from './deliveryTable.ts';
import type { WebhookManager } from './WebhookManager.ts';

/** The number of a workspace's webhooks that send nothing. */
export interface WebhookProblems {
  disabled: number;
  /** Enabled, but their last attempt was not accepted. */
  failing: number;
}

/** Counts the webhooks of a workspace that send nothing. Rejects with `unavailable`. */
export async function webhookProblems(
  { webhooks, stateStore }: { webhooks: WebhookManager; stateStore: StateStore },
  workspace: string,
): Promise<WebhookProblems> {
  const all = await webhooks.all(workspace);
  const enabled = all.filter(({ state }) => state === 'enabled').map(({ id }) => id);
  const positions = await loadPositions(stateStore, enabled);
  const failing = [...positions.values()].filter(({ failing }) => failing !== undefined).length;
  return { disabled: all.length - enabled.length, failing };
}

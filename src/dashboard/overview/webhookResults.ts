import type { StateStore } from '../../ports/stateStore.ts';
import { type AttemptResults, attemptResults } from '../../webhooks/delivery/attempts.ts';
import type { WebhookManager } from '../../webhooks/settings/WebhookManager.ts';
import type { Webhook } from '../../webhooks/settings/webhook.ts';

/** The results of a webhook's attempts. */
export interface WebhookResults extends AttemptResults {
  webhook: Webhook;
}

/**
 * Resolves with the results of the attempts of each webhook of a workspace since a moment: of its last `most`.
 * Rejects with `unavailable`.
 */
export async function webhookResults(
  { webhooks, stateStore }: { webhooks: WebhookManager; stateStore: StateStore },
  workspace: string,
  wanted: { since: number; most: number },
): Promise<WebhookResults[]> {
  const all = await webhooks.all(workspace);
  return Promise.all(
    all.map(async (webhook) => ({ webhook, ...(await attemptResults(stateStore, webhook.id, wanted)) })),
  );
}

/** Returns how many attempts there were, and how many of them were not accepted. */
export function countResults(results: AttemptResults['results']): { attempts: number; notTaken: number } {
  return { attempts: results.length, notTaken: results.filter(({ isTaken }) => !isTaken).length };
}

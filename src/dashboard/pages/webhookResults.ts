import { type AttemptResults, attemptResults } from '../../modules/webhooks/attempts.ts';
import type { WebhookManager } from '../../modules/webhooks/WebhookManager.ts';
import type { Webhook } from '../../modules/webhooks/webhook.ts';
import type { StateStore } from '../../storage/stateStore.ts';

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

/** Returns the webhooks that were sent something and accepted nothing. */
export function deadWebhooks(results: readonly WebhookResults[]): Webhook[] {
  const isDead = ({ results: all }: WebhookResults) => all.length > 0 && all.every(({ isTaken }) => !isTaken);
  return results.filter(isDead).map(({ webhook }) => webhook);
}

/**
 * Returns the share of attempts delivered to the webhook with the lowest, in per cent: one of many attempts does not hide another
 * that accepts nothing. Undefined without attempts.
 */
export function lowestShare(results: readonly WebhookResults[]): string | undefined {
  const [worst] = results
    .map((one) => countResults(one.results))
    .filter(({ attempts }) => attempts > 0)
    .sort((a, b) => b.notTaken / b.attempts - a.notTaken / a.attempts);
  return worst && share(worst.attempts - worst.notTaken, worst.attempts);
}

/** Returns a part of a whole, in per cent; never 100 % while anything is missing. */
export function share(part: number, whole: number): string {
  return `${(Math.floor((1_000 * part) / whole) / 10).toLocaleString('en-US')}%`;
}

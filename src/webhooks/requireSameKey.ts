import { ServiceError } from '../errors.ts';
import { unseal } from './sealSecret.ts';
import type { Webhook } from './webhook.ts';

/**
 * Throws `unavailable` when whoever sends the messages of these webhooks seems to have another key: it could not open
 * what is sealed with this one.
 */
export function requireSameKey(key: Uint8Array, webhooks: readonly Webhook[]): void {
  const [webhook] = webhooks;
  const [secret] = webhook?.secrets ?? [];
  if (webhook === undefined || secret === undefined) return;
  try {
    unseal(key, webhook, secret.sealed);
  } catch (cause) {
    const message = 'The secrets of webhooks are sealed with another key than this process has.';
    const advice = 'Its operators have to set WEBHOOK_SECRETS_KEY, or DATA_DIR, as in the other processes.';
    throw new ServiceError('unavailable', `${message} ${advice}`, { retryAfterSeconds: 60, cause });
  }
}

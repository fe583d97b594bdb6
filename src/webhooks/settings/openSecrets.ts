import { unseal } from './sealSecret.ts';
import { validSecrets, type Webhook } from './webhook.ts';

/**
 * The secrets that sign a webhook's messages now (milliseconds since 1970), newest first. Throws when the newest cannot be
 * opened; an older one that cannot, because it was sealed with a key that was lost, signs no longer.
 */
export function openSecrets(key: Uint8Array, webhook: Webhook, now: number): string[] {
  return validSecrets(webhook.secrets, now).flatMap(({ sealed }, index) => {
    try {
      return [unseal(key, webhook, sealed)];
    } catch (error) {
      if (index === 0) throw error;
      return [];
    }
  });
}

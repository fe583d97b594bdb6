import { type SecretOwner, unseal } from './sealSecret.ts';
import { validSecrets, type Webhook } from './webhook.ts';

/** The keys that seal secrets: the one in use first, then those before it; as they are at this moment, where `isNow`. */
export type SecretsKeys = (isNow?: boolean) => Promise<readonly Uint8Array[]>;

/**
 * The secrets that sign a webhook's messages now (milliseconds since 1970), newest first. Rejects when the newest cannot be
 * opened; an older one that cannot, because it was sealed with a key that was lost, signs no longer.
 */
export async function openSecrets(keys: SecretsKeys, webhook: Webhook, now: number): Promise<string[]> {
  try {
    return open(await keys(), webhook, now);
  } catch {
    // It may be sealed with a key that came into use this moment.
    return open(await keys(true), webhook, now);
  }
}

function open(keys: readonly Uint8Array[], webhook: Webhook, now: number): string[] {
  return validSecrets(webhook.secrets, now).flatMap(({ sealed }, index) => {
    try {
      return [unsealWith(keys, webhook, sealed)];
    } catch (error) {
      if (index === 0) throw error;
      return [];
    }
  });
}

/** The text that was sealed with one of the keys. Throws when it was with none of them. */
export function unsealWith(keys: readonly Uint8Array[], owner: SecretOwner, sealed: string): string {
  const failures: unknown[] = [];
  for (const key of keys) {
    try {
      return unseal(key, owner, sealed);
    } catch (error) {
      failures.push(error);
    }
  }
  throw failures[0];
}

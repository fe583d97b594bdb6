import { type SecretOwner, unseal } from './sealSecret.ts';
import { validSecrets, type Webhook } from './webhook.ts';

/**
 * Resolves with the keys that seal secrets: the one in use first, then earlier ones; as of this very moment, where
 * `isNow`.
 */
export type SecretsKeys = (isNow?: boolean) => Promise<readonly Uint8Array[]>;

/**
 * Resolves with the secrets that sign a webhook's messages now (milliseconds since 1970), newest first. Rejects when
 * the newest cannot be opened; an older one that cannot, because it was sealed with a lost key, no longer signs.
 */
export async function openSecrets(keys: SecretsKeys, webhook: Webhook, now: number): Promise<string[]> {
  try {
    return open(await keys(), webhook, now);
  } catch {
    // It may be sealed with a key that has only just come into use.
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

/** Returns the text that was sealed with one of the keys. Throws when it was sealed with none of them. */
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

import { randomBytes } from 'node:crypto';
import type { NewEvent } from '../../domain/events/event.ts';
import { type Actor, newActorEvent } from '../../domain/events/newEvent.ts';
import { encrypt as sealFor, decrypt as unsealFor } from '../../platform/encryption.ts';
import { SECRET_PREFIX } from './messages.ts';
import { validSecrets, type Webhook, type WebhookDirectory, type WebhookSecretsSealed } from './webhook.ts';

const SECRET_BYTES = 32;
/**
 * The prefix of what is bound to its webhook; what was sealed before binding was introduced has no prefix of its own.
 */
const BOUND = 'v2.';

/** Whose secret it is. */
export interface SecretOwner {
  workspace: string;
  /** The webhook's id. */
  id: string;
}

/** Returns a new secret for a webhook, as defined by Standard Webhooks: `whsec_` and 32 random bytes in base64. */
export function generateSecret(): string {
  return SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64');
}

/** Returns the text, sealed (`encryption.ts`) and bound to its webhook: the sealed part comes after `v2.`. */
export function encryptSecret(key: Uint8Array, owner: SecretOwner, text: string): string {
  return BOUND + sealFor(key, contextOf(owner), text);
}

/**
 * Returns the text that was passed to `seal`. Throws when it was sealed with another key or for another webhook, or
 * is damaged.
 */
export function decryptSecret(key: Uint8Array, owner: SecretOwner, sealed: string): string {
  if (!sealed.startsWith(BOUND)) return unsealFor(key, '', sealed);
  return unsealFor(key, contextOf(owner), sealed.slice(BOUND.length));
}

/** Ids contain no `/`. */
function contextOf({ workspace, id }: SecretOwner): string {
  return `${workspace}/${id}`;
}

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
      return decryptSecret(key, owner, sealed);
    } catch (error) {
      failures.push(error);
    }
  }
  throw failures[0];
}

/**
 * Seals webhooks' secrets with the first of the keys where they are sealed with another of them; resolves with the
 * number of webhooks that had any. A secret that none of the keys opens stays as it is. Rejects with `unavailable`.
 */
export async function resealSecrets(
  directory: WebhookDirectory,
  keys: readonly Uint8Array[],
  actor: Actor,
): Promise<number> {
  await directory.refresh();
  let count = 0;
  for (const { id } of directory.all()) {
    let event: NewEvent | undefined;
    await directory.change(({ webhooks }) => {
      event = reencrypted(webhooks.get(id), keys, actor);
      return event;
    });
    if (event) count += 1;
  }
  return count;
}

function reencrypted(
  webhook: Webhook | undefined,
  keys: readonly Uint8Array[],
  actor: Actor,
): NewEvent | undefined {
  if (webhook === undefined || webhook.state === 'deleted') return undefined;
  const sealed = webhook.secrets.map((secret) => resealed(webhook, keys, secret.sealed));
  if (sealed.every((one, index) => one === webhook.secrets[index]?.sealed)) return undefined;
  const data = { webhook_id: webhook.id, sealed_secrets: sealed } satisfies WebhookSecretsSealed;
  return newActorEvent(actor, webhook.workspace, 'WebhookSecretsSealed', data);
}

/** Returns it unchanged where the first key opens it, or none does. */
function resealed(webhook: Webhook, keys: readonly Uint8Array[], sealed: string): string {
  try {
    unsealWith(keys.slice(0, 1), webhook, sealed);
    return sealed;
  } catch {
    // Sealed with another key.
  }
  try {
    return encryptSecret(keys[0] as Uint8Array, webhook, unsealWith(keys, webhook, sealed));
  } catch {
    return sealed;
  }
}

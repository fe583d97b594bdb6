import type { NewEvent } from '../../domain/events/event.ts';
import { type Actor, newActorEvent } from '../../domain/events/newEvent.ts';
import { unsealWith } from './openSecrets.ts';
import { seal } from './sealSecret.ts';
import type { WebhookDirectory } from './WebhookDirectory.ts';
import type { Webhook, WebhookSecretsSealed } from './webhook.ts';

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
      event = sealedAnew(webhooks.get(id), keys, actor);
      return event;
    });
    if (event) count += 1;
  }
  return count;
}

function sealedAnew(
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
    return seal(keys[0] as Uint8Array, webhook, unsealWith(keys, webhook, sealed));
  } catch {
    return sealed;
  }
}

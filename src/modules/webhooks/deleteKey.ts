import { type Actor, newActorEvent } from '../../domain/events/newEvent.ts';
import type { KeyManager } from '../auth/KeyManager.ts';
import { type KeyState, keysOfSender } from '../auth/keyState.ts';
import type { WebhookDirectory } from './WebhookDirectory.ts';
import type { Webhook } from './webhook.ts';

export interface DeleteKeyPorts {
  keys: KeyManager;
  webhooks: WebhookDirectory;
  /** The existing keys. */
  known: Readonly<KeyState>;
  actor: Actor;
}

/**
 * Deletes a key permanently, and then disables the webhooks that were created with it unless they are to be kept.
 * Resolves with those webhooks that send, or would continue to send. Can be repeated if interrupted. Rejects with
 * `not_found` and `unavailable`.
 */
export async function deleteKey(
  { keys, webhooks, known, actor }: DeleteKeyPorts,
  id: string,
  { keepWebhooks = false } = {},
): Promise<Webhook[]> {
  // First, so that nothing more can be created with it.
  await keys.setKeyState(id, 'deleted');
  await webhooks.refresh();
  const found = webhooksOfKey(webhooks.all(), known, id);
  if (keepWebhooks) return found;
  for (const { id: webhook_id, workspace } of found) {
    await webhooks.change(({ webhooks: all }) => {
      if (all.get(webhook_id)?.state !== 'enabled') return undefined;
      return newActorEvent(actor, workspace, 'WebhookDisabled', { webhook_id, reason: 'key_deleted' });
    });
  }
  return found;
}

/** Returns the enabled webhooks that were created with a key, or with one that it replaced. */
export function webhooksOfKey(
  webhooks: readonly Webhook[],
  known: Pick<KeyState, 'keys'>,
  id: string,
): Webhook[] {
  const all = keysOfSender(known, id);
  const ids = new Set(all.slice(0, all.indexOf(id) + 1));
  return webhooks.filter(
    ({ state, createdBy }) => state === 'enabled' && createdBy.type === 'api_key' && ids.has(createdBy.id),
  );
}

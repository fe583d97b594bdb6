import type { KeyState } from '../auth/keyState.ts';
import type { Webhook } from './webhook.ts';

/** Whether a webhook's messages may be sent: it is enabled, and its workspace is active. */
export function maySend({ state, workspace }: Webhook, known: Readonly<KeyState>): boolean {
  return state === 'enabled' && known.workspaces.get(workspace)?.state === 'active';
}

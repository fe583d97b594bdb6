import type { Access } from '../../access/keys/access.ts';
import type { Webhook } from './webhook.ts';

/** Whether a webhook's messages may go: it is enabled, and its workspace is active. */
export function maySend({ state, workspace }: Webhook, access: Readonly<Access>): boolean {
  return state === 'enabled' && access.workspaces.get(workspace)?.state === 'active';
}

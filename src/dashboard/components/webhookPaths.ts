import { permissionsOf } from '../../modules/auth/user.ts';
import type { WebhookCaller } from '../../modules/webhooks/payloadPermissions.ts';
import type { Visit } from './route.ts';

export const webhooksSection = 'Webhooks';

/** Returns the address of a workspace's webhooks, below `/dashboard`. */
export function webhooksPath(workspace: string): string {
  return `/workspaces/${workspace}/webhooks`;
}

/** Returns the address of one webhook, below `/dashboard`. */
export function webhookPath(workspace: string, id: string): string {
  return `${webhooksPath(workspace)}/${id}`;
}

/** Returns the webhook that a path names. */
export function webhookId({ req }: Visit): string {
  return String(req.params.id);
}

/** Returns the user who works with webhooks: integrators only with those that send no patient data. */
export function webhookCaller({ caller, role }: Visit): WebhookCaller {
  return { ...caller, permissions: role === undefined ? [] : permissionsOf[role] };
}

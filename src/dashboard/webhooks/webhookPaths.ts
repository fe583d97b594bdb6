import { permissions } from '../../principals/keys/permissions.ts';
import type { WebhookCaller } from '../../webhooks/settings/payloadPermissions.ts';
import type { Visit } from '../shell/route.ts';

export const webhooksSection = 'Webhooks';

/** The address of the webhooks of a workspace, below `/dashboard`. */
export function webhooksPath(workspace: string): string {
  return `/workspaces/${workspace}/webhooks`;
}

/** The address of one webhook, below `/dashboard`. */
export function webhookPath(workspace: string, id: string): string {
  return `${webhooksPath(workspace)}/${id}`;
}

/** The webhook that a path names. */
export function webhookId({ req }: Visit): string {
  return String(req.params.id);
}

/** The administrator who works with webhooks: may have anything sent. */
export function webhookCaller({ caller }: Visit): WebhookCaller {
  return { ...caller, permissions };
}

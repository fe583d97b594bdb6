import type { Caller } from '../../domain/events/newEvent.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { Permission } from '../auth/permissions.ts';
import type { WebhookPayload } from './webhook.ts';

/** Who works with a webhook, with the permissions that decide which ones. */
export interface WebhookCaller extends Caller {
  permissions: readonly Permission[];
}

/**
 * One of these is needed for anything done with a webhook that sends events in that form: a caller who may not read
 * them may not have them sent anywhere, sign for what is sent, or see what became of it.
 */
const permissionsFor: Record<WebhookPayload, readonly Permission[]> = {
  reference: [],
  full: ['events'],
  deidentified: ['events', 'events:deidentified'],
};

/** Whether a caller may work with webhooks of that payload. */
export function mayUsePayload({ permissions }: WebhookCaller, payload: WebhookPayload): boolean {
  const needed = permissionsFor[payload];
  return needed.length === 0 || needed.some((permission) => permissions.includes(permission));
}

/** Throws `permission_denied` when a caller may not work with webhooks of that payload. */
export function requirePayload(caller: WebhookCaller, payload: WebhookPayload): void {
  if (mayUsePayload(caller, payload)) return;
  const named = permissionsFor[payload].map((permission) => `'${permission}'`).join(' or ');
  const isUser = caller.principal.type === 'user';
  throw new ServiceError(
    'permission_denied',
    isUser
      ? `Only an administrator can work with webhooks of the payload '${payload}'.`
      : `The API key lacks the permission ${named}, which the payload '${payload}' needs.`,
  );
}

import type { Permission } from '../../modules/auth/permissions.ts';
import { ServiceError } from '../../platform/errors.ts';

/** The refusals of requests because of their API key. */
export const missingKey = () =>
  new ServiceError(
    'unauthorized',
    'An API key is required. Send it in the x-api-key header or as Authorization: Bearer.',
  );

export const unknownKey = () => new ServiceError('unauthorized', 'The API key is not valid.');

export const expiredKey = () => new ServiceError('key_expired', 'The API key has expired.');

/** It does not reveal from where the key is accepted. */
export const foreignAddress = () =>
  new ServiceError(
    'address_not_allowed',
    'The API key cannot be used from the IP address that the request came from.',
  );

export const deactivatedKey = () => new ServiceError('key_deactivated', 'The API key is deactivated.');

export const deactivatedWorkspace = () =>
  new ServiceError('workspace_deactivated', 'The workspace of the API key is deactivated.');

/** Returns the refusal of a key that has none of these permissions. */
export function lackingPermission(permissions: readonly Permission[]): ServiceError {
  const named = permissions.map((permission) => `'${permission}'`).join(' or ');
  return new ServiceError('permission_denied', `The API key lacks the permission ${named}.`);
}

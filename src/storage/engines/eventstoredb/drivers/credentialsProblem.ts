import { isDriverError } from './isDriverError.ts';

/** gRPC's status number for a user who is not authenticated. */
const UNAUTHENTICATED = 16;

/**
 * Returns what an operator should do about a server that denies access, or grants too little; undefined when `error` is a
 * different one.
 */
export function credentialsProblem(error: unknown): string | undefined {
  if (!isDriverError(error, 'access-denied')) return undefined;
  return error.code === UNAUTHENTICATED
    ? 'The server refuses the user name or the password in EVENT_LOG_URL.'
    : 'The server does not let the user in EVENT_LOG_URL read $all and append to streams: make it a member of $admins, or change the access control lists.';
}

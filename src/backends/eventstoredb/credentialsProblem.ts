import { isDriverError } from './drivers/isDriverError.ts';

/** gRPC's number of the status that says who did not prove to be the user. */
const UNAUTHENTICATED = 16;

/** What an operator does about a server that lets us not in, or not far enough; undefined when `error` is another. */
export function credentialsProblem(error: unknown): string | undefined {
  if (!isDriverError(error, 'access-denied')) return undefined;
  return error.code === UNAUTHENTICATED
    ? 'The server refuses the user name or the password in EVENT_LOG_URL.'
    : 'The server does not let the user in EVENT_LOG_URL read $all and append to streams: make it a member of $admins, or change the access control lists.';
}

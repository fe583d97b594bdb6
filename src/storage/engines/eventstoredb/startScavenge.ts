import { unavailable } from '../../../platform/errors.ts';
import type { DriverClient } from './DriverClient.ts';
import { attempt } from './drivers/attempt.ts';

/** gRPC's status numbers for calls that the user may not make. */
const PERMISSION_DENIED = 7;
const UNAUTHENTICATED = 16;

const MAY_NOT =
  'The server does not let the user in EVENT_LOG_URL start a scavenge: make it a member of $admins or $ops, or start it by other means.';

/**
 * Starts a scavenge on the connected node, unless one is running, and returns the id of the one that is. Rejects with `unavailable`,
 * whose `problem` says so when the user lacks permission.
 */
export function startScavenge(client: DriverClient): Promise<string> {
  return attempt(client, (waiting) =>
    client.call(waiting, async (driver) => {
      try {
        return await driver.startScavenge();
      } catch (error) {
        const { code } = error as { code?: number };
        if (code === PERMISSION_DENIED || code === UNAUTHENTICATED)
          throw unavailable('event log', error, MAY_NOT);
        throw error;
      }
    }),
  );
}

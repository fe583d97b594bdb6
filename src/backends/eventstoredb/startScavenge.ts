import { EventStoreDBClient } from '@eventstore/db-client';
import services from '@eventstore/db-client/generated/operations_grpc_pb.js';
import messages from '@eventstore/db-client/generated/operations_pb.js';
import { unavailable } from '../../errors.ts';
import { attempt, TIMEOUT_MS } from './attempt.ts';
import type { DriverClient } from './DriverClient.ts';

/** gRPC's numbers of the states of calls that the user may not make. */
const PERMISSION_DENIED = 7;
const UNAUTHENTICATED = 16;

const MAY_NOT =
  'EventStoreDB does not let the user in EVENT_LOG_URL start a scavenge: make it a member of $admins or $ops, or start it by other means.';

/** What the driver keeps for its subclasses. */
class OperatingClient extends EventStoreDBClient {
  static async startScavenge(driver: EventStoreDBClient): Promise<void> {
    const client = driver as OperatingClient;
    const options = new messages.StartScavengeReq.Options();
    options.setThreadCount(1);
    const request = new messages.StartScavengeReq().setOptions(options);
    const [metadata, callOptions] = client.callArguments({ deadline: TIMEOUT_MS });
    await client.execute(
      services.OperationsClient,
      'startScavenge',
      (operations) =>
        new Promise<void>((resolve, reject) => {
          operations.startScavenge(request, metadata, callOptions, (error) => {
            if (error) reject(error);
            else resolve();
          });
        }),
    );
  }
}

/**
 * Has the node to which the client is connected begin to scavenge, or leaves it to the scavenge that runs. Rejects with
 * `unavailable`, whose `problem` says so when the user may not.
 */
export async function startScavenge(client: DriverClient): Promise<void> {
  await attempt((waiting) =>
    client.call(waiting, async (driver) => {
      try {
        await OperatingClient.startScavenge(driver);
      } catch (error) {
        const { code } = error as { code?: number };
        if (code === PERMISSION_DENIED || code === UNAUTHENTICATED)
          throw unavailable('event log', error, MAY_NOT);
        throw error;
      }
    }),
  );
}

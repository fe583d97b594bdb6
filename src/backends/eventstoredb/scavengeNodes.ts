import { EventStoreDBClient } from '@eventstore/db-client';
import services from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import type { ClusterInfo } from '@eventstore/db-client/generated/gossip_pb.js';
import messages from '@eventstore/db-client/generated/shared_pb.js';
import { ServiceError, unavailable } from '../../errors.ts';
import { attempt, TIMEOUT_MS } from './attempt.ts';
import { DriverClient } from './DriverClient.ts';
import { nodeUrl } from './driverUrl.ts';
import { startScavenge } from './startScavenge.ts';

/** What the driver keeps for its subclasses. */
class GossipingClient extends EventStoreDBClient {
  static async gossip(driver: EventStoreDBClient): Promise<ClusterInfo> {
    const client = driver as GossipingClient;
    const [metadata, callOptions] = client.callArguments({ deadline: TIMEOUT_MS });
    return client.execute(
      services.GossipClient,
      'gossip',
      (gossip) =>
        new Promise<ClusterInfo>((resolve, reject) => {
          gossip.read(new messages.Empty(), metadata, callOptions, (error, info) => {
            if (error) reject(error);
            else resolve(info);
          });
        }),
    );
  }
}

/**
 * Has every node of the cluster at a URL begin to scavenge, as each has files of its own; a server that is alone by the
 * connection that there is. Rejects with `unavailable`, whose `problem` names the nodes on which it was not started; on the others
 * it was.
 */
export async function scavengeNodes(client: DriverClient, url: string): Promise<void> {
  const nodes = await nodesOf(client);
  if (nodes.length < 2) return startScavenge(client);
  const failed: string[] = [];
  let cause: unknown;
  for (const node of nodes) {
    const connected = new DriverClient(nodeUrl(url, node));
    try {
      await startScavenge(connected);
    } catch (error) {
      failed.push(node);
      cause = error;
    } finally {
      await connected.close();
    }
  }
  if (failed.length === 0) return;
  // What is wrong with all of them is no matter of a node.
  if (failed.length === nodes.length && cause instanceof ServiceError && cause.problem) throw cause;
  const ways = failed.map((node) => `curl -X POST -u USER https://${node}/admin/scavenge`);
  throw unavailable(
    'event log',
    cause,
    `No scavenge was started on ${failed.join(' and ')}: start it there when the node is back (${ways.join('; ')}).`,
  );
}

/** The nodes of the cluster as `host:port`, those that are away included, as the cluster itself names them. */
async function nodesOf(client: DriverClient): Promise<string[]> {
  const info = await attempt((waiting) => client.call(waiting, (driver) => GossipingClient.gossip(driver)));
  return info.getMembersList().flatMap((member) => {
    const at = member.getHttpEndPoint();
    return at ? [`${at.getAddress()}:${at.getPort()}`] : [];
  });
}

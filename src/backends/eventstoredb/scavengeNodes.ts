import { ServiceError, unavailable } from '../../errors.ts';
import { attempt } from './attempt.ts';
import type { DriverClient } from './DriverClient.ts';
import { nodeUrl } from './driverUrl.ts';
import { startScavenge } from './startScavenge.ts';

/**
 * Has every node of the cluster at a URL begin to scavenge, as each has files of its own; a server that is alone by the
 * connection that there is. Rejects with `unavailable`, whose `problem` names the nodes on which it was not started; on the others
 * it was.
 */
export async function scavengeNodes(client: DriverClient, url: string): Promise<void> {
  const nodes = await attempt((waiting) => client.call(waiting, (driver) => driver.nodes()));
  if (nodes.length < 2) return startScavenge(client);
  const failed: string[] = [];
  let cause: unknown;
  for (const node of nodes) {
    const connected = client.at(nodeUrl(url, node));
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

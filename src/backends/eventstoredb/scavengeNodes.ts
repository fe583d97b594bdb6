import { ServiceError, unavailable } from '../../errors.ts';
import { attempt } from './attempt.ts';
import type { DriverClient } from './DriverClient.ts';
import { nodeUrl } from './driverUrl.ts';
import { startScavenge } from './startScavenge.ts';

/**
 * Starts a scavenge on every node of the cluster at a URL, as each has its own files; a single server is reached over the
 * existing connection. Rejects with `unavailable`, whose `problem` names the nodes on which it was not started; it was started on
 * the others.
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
  // A problem that all of them have does not concern a node.
  if (failed.length === nodes.length && cause instanceof ServiceError && cause.problem) throw cause;
  const ways = failed.map((node) => `curl -X POST -u USER https://${node}/admin/scavenge`);
  throw unavailable(
    'event log',
    cause,
    `No scavenge was started on ${failed.join(' and ')}: start it there when the node is back (${ways.join('; ')}).`,
  );
}

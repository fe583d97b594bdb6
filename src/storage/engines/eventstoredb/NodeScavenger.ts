import type { Position, RecordedEvent } from '../../../domain/events/event.ts';
import type { ScavengeOutcome, Scavenger } from '../../scavenger.ts';
import { attempt } from './drivers/attempt.ts';
import { hostsOf, nodeUrl } from './driverUrl.ts';
import type { LogReader } from './LogReader.ts';
import { toRecordedEvent } from './recordedEvent.ts';
import { startScavenge } from './startScavenge.ts';

const POINTS_STREAM = '$scavengePoints';
/** Number of the newest scavenge points that are read: each scavenge adds one at most. */
const POINTS = 1_000;

/**
 * The scavenges of a server, or of each node of a cluster. A scavenge executes the cluster's latest scavenge point, unless its node
 * has already done that: then it adds one, and fails if another node does so at the same time. Only what was removed before the
 * point goes. So what was removed before a mark is gone for certain where a scavenge succeeds that began after a point behind the
 * mark.
 */
export class NodeScavenger implements Scavenger {
  readonly #reader: LogReader;
  readonly #url: string;

  constructor(reader: LogReader, url: string) {
    this.#reader = reader;
    this.#url = url;
  }

  async nodes(): Promise<string[]> {
    const { client } = this.#reader;
    const nodes = await attempt(client, (waiting) => client.call(waiting, (driver) => driver.nodes()));
    return nodes.length > 1 ? nodes : hostsOf(this.#url).slice(0, 1);
  }

  mark(): Promise<Position> {
    return this.#reader.lastPosition();
  }

  async start(node: string): Promise<string> {
    const { client } = this.#reader;
    // A single server is reached over the existing connection.
    if ((await this.nodes()).length === 1) return startScavenge(client);
    const connected = client.at(nodeUrl(this.#url, node));
    try {
      return await startScavenge(connected);
    } finally {
      await connected.close();
    }
  }

  async outcome(scavenge: string, mark: Position): Promise<ScavengeOutcome> {
    const stream = `$scavenges-${scavenge}`;
    const [first] = await this.#read(stream, 'forwards', 1);
    const [last] = await this.#read(stream, 'backwards', 1);
    if (first === undefined || last?.type !== '$scavengeCompleted') return 'running';
    if (last.data.result !== 'Success') return 'failed';
    const points = await this.#read(POINTS_STREAM, 'backwards', POINTS);
    const isCovered = points.some(({ position }) => position > mark && position < first.position);
    return isCovered ? 'covered' : 'not_covered';
  }

  #read(stream: string, direction: 'forwards' | 'backwards', limit: number): Promise<RecordedEvent[]> {
    return this.#reader.readStream(stream, { direction, limit }, toRecordedEvent);
  }
}

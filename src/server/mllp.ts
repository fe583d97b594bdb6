import type { Logger } from 'pino';
import type { ConnectionTimes } from '../api/mllp/connection.ts';
import { MllpListener } from '../api/mllp/listener.ts';
import { openBatches } from '../api/routes/batchRunner.ts';
import type { Config } from '../platform/config.ts';
import { isInNetworks } from '../platform/networks.ts';
import { type OpenStores, openIngestPorts } from './requestServer.ts';

/** The role that receives messages over MLLP. */
export interface MllpRole {
  /** The ports on which it listens. */
  ports: number[];
  /** Acknowledges the messages under way, and ends. */
  stop(): Promise<void>;
}

/** Starts receiving messages over MLLP, until `stop`. On rejection nothing is left open. `times` is set only by tests. */
export async function startMllp(
  config: Config,
  logger: Logger,
  { limiters, ...stores }: OpenStores,
  times?: ConnectionTimes,
): Promise<MllpRole> {
  const { mllp, drainSeconds } = config;
  const ingest = await openIngestPorts(stores);
  const batches = openBatches(config, limiters, logger);
  try {
    const ports = { ...stores, ...ingest.ports, batches, logger };
    const listener = await MllpListener.listen(ports, mllp, times);
    logger.info(
      { host: mllp.host, ports: listener.ports, tls: mllp.tls !== undefined },
      'MLLP is listened for',
    );
    if (mllp.tls === undefined && !isInNetworks(['127.0.0.0/8', '::1/128'], mllp.host)) {
      logger.warn('MLLP messages arrive without TLS: anyone who can listen in on the network can read them');
    }
    return {
      ports: listener.ports,
      async stop() {
        await listener.drain(drainSeconds);
        await batches.close();
        ingest.close();
      },
    };
  } catch (error) {
    ingest.close();
    throw error;
  }
}

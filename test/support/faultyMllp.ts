import { destination } from 'pino';
import type { ConnectionTimes } from '../../src/api/mllp/connection.ts';
import type { MllpSettings } from '../../src/platform/config.ts';
import { createLogger } from '../../src/platform/logging.ts';
import { SharedFlag } from '../../src/platform/threads/semaphore.ts';
import { startMllp } from '../../src/server/mllp.ts';
import { openStores } from '../../src/server/requestServer.ts';
import { systemClock } from '../../src/storage/rateLimiters.ts';

import { type Faults, withFaults } from './app.ts';
import { outputFolder } from './output.ts';
import type { TestService } from './service.ts';

/** A listener of MLLP over a service's stores, whose ports have faults, with settings of its own. */
export async function startFaultyMllp(
  service: TestService,
  faults: Faults,
  { times, ...settings }: Partial<MllpSettings> & { times?: ConnectionTimes } = {},
): Promise<{ port: number; stop(): Promise<void> }> {
  const stops: (() => unknown)[] = [];
  const stores = await openStores(service.config, {
    step: (work) => work,
    stops,
    eventLog: {},
    awaited: new SharedFlag(),
    counts: undefined,
    clock: systemClock,
  });
  const faulty = {
    ...stores,
    eventLog: withFaults(stores.eventLog, faults.eventLog),
    stateStore: withFaults(stores.stateStore, faults.stateStore),
    documentStore: withFaults(stores.documentStore, faults.documentStore),
  };
  const logger = createLogger(
    'trace',
    destination({ dest: `${outputFolder}/logs/${process.pid}.log`, sync: true }),
  );
  const mllp = { ...service.config.mllp, ports: [0], ...settings };
  const role = await startMllp({ ...service.config, mllp }, logger, faulty, times);
  return {
    port: role.ports[0] as number,
    async stop() {
      await role.stop();
      for (const stop of stops.reverse()) await stop();
    },
  };
}

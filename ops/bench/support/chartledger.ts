import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { KeyDirectory } from '../../../src/modules/auth/keyDirectory.ts';
import { type CreatedKey, KeyManager } from '../../../src/modules/auth/keyManager.ts';
import type { Permission } from '../../../src/modules/auth/permissions.ts';
import { projectionStatus } from '../../../src/modules/records/queries/records.ts';
import { type Config, loadConfig } from '../../../src/platform/config.ts';
import { openEventLog, openReadModels } from '../../../src/server/openStorage.ts';

import type { Bench } from '../scenario.ts';
import type { Kind } from './load/bodies.ts';
import { FACILITIES, PATIENTS_WITH_ENCOUNTERS, PAYERS, PROVIDERS } from './load/bodies.ts';
import { type ServerProcess, startServer } from './serverProcess.ts';

/** Stores and a key for the service, which need not be running. */
export interface Stores {
  folder: string;
  env: Record<string, string>;
  config: Config;
  key: CreatedKey;
}

export interface Chartledger extends ServerProcess {
  stores: Stores;
}

/**
 * Creates fresh stores with a workspace and a key; `env` overrides settings. The rate limit is on, but out of reach.
 */
export async function makeStores(
  bench: Pick<Bench, 'folder'>,
  env: Record<string, string> = {},
  permissions: Permission[] = ['write'],
): Promise<Stores> {
  const folder = mkdtempSync(join(bench.folder, 'chartledger-'));
  const settings = {
    DATA_DIR: folder,
    NODE_ENV: 'production',
    RATE_LIMIT_PER_MINUTE: '1000000000',
    DASHBOARD_RATE_LIMIT_PER_MINUTE: '0',
    ...env,
  };
  const config = loadConfig(settings);
  const eventLog = await openEventLog(config.eventLogUrl);
  const directory = await KeyDirectory.open(eventLog);
  const manager = new KeyManager(directory, { principal: { type: 'operator', id: 'bench' } });
  const workspace = `bench_${randomBytes(4).toString('hex')}`;
  const key = await manager.createKey(workspace, 'Bench', permissions);
  directory.close();
  await eventLog.close();
  return { folder, env: settings, config, key };
}

/** The stores of the servers that run, by their addresses: how far read models are is no public information. */
const progress = new Map<string, ReturnType<typeof openProgress>>();

async function openProgress({ eventLogUrl, readModelUrl }: Config) {
  return { eventLog: await openEventLog(eventLogUrl), readModels: await openReadModels(readModelUrl) };
}

/** Starts the service on stores, as `npm start` does. */
export async function startChartledger(bench: Bench, stores: Stores): Promise<Chartledger> {
  const nodeOptions = bench.profiles ? ['--cpu-prof', `--cpu-prof-dir=${bench.profiles}`] : [];
  const { env, folder } = stores;
  const server = await startServer(bench, { script: 'src/main.ts', env, folder, nodeOptions });
  const opened = openProgress(stores.config);
  progress.set(server.url, opened);
  return {
    ...server,
    stores,
    async stop() {
      await server.stop();
      progress.delete(server.url);
      const { eventLog, readModels } = await opened;
      await Promise.all([eventLog.close(), readModels.close()]);
    },
  };
}

const numberOf: Partial<Record<Kind, number>> = {
  payers: PAYERS,
  providers: PROVIDERS,
  facilities: FACILITIES,
  patients: PATIENTS_WITH_ENCOUNTERS,
  encounters: 1,
};

/** Sends every record that records of these kinds refer to. */
export async function seed(bench: Bench, server: ServerProcess, key: string, kinds: Kind[]): Promise<void> {
  for (const kind of kinds) {
    const among = numberOf[kind] as number;
    const once = { among, once: true, connections: Math.min(among, 16), seconds: 0 };
    await bench.load.run({ url: server.url, key, kind, ...once });
  }
}

/** Resolves with how many positions the last projection is behind the log. */
export async function behind(url: string): Promise<number> {
  const stores = await progress.get(url);
  if (stores === undefined) throw new Error(`no server runs at ${url}`);
  const statuses = await projectionStatus(stores.eventLog, stores.readModels);
  return Math.max(...statuses.map((status) => status.behind));
}

const CATCH_UP_WITHIN_MS = 3_600_000;

/** Waits until the read models hold everything; resolves with the seconds that took. */
export async function caughtUp(url: string, everyMs = 20): Promise<number> {
  const startedAt = performance.now();
  while ((await behind(url)) > 0) {
    if (performance.now() - startedAt > CATCH_UP_WITHIN_MS)
      throw new Error('the projector does not catch up');
    await sleep(everyMs);
  }
  return (performance.now() - startedAt) / 1000;
}

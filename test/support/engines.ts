import { randomBytes } from 'node:crypto';
import { describe } from '@jest/globals';
import { projections } from '../../projections/index.ts';
import { modelName } from '../../projections/projection.ts';
import { openEventLog, openReadModels } from '../../src/backends/openBackend.ts';
import { eventStoreDb, gcsBucket, googleCloudStorage, mongoDb } from './servers.ts';
import { startTestService, type TestService } from './service.ts';

/** Starts a service on one set of engines; `env` overrides settings. */
export type StartService = (env?: Record<string, string>) => Promise<TestService>;

/**
 * The suite's phase of its own for the production engines: their servers are shared, and a service whose log another
 * suite floods would have to project all of that too.
 */
const isProductionPhase = process.env.TEST_PHASE === 'production';

/** Runs a suite on the embedded engines, and in its phase on the production engines where their servers are at hand. */
export function onEveryEngine(suite: (start: StartService) => void): void {
  if (!isProductionPhase) {
    describe('embedded engines', () => suite((env = {}) => startTestService(env)));
    return;
  }
  if (missingServer === undefined) describe('production engines', () => suite(startOnProduction));
  else describe.skip(`production engines (${missingServer})`, () => suite(startOnProduction));
}

const servers = isProductionPhase ? await Promise.all([eventStoreDb(), mongoDb(), googleCloudStorage()]) : [];

/** Why services cannot be started on the production engines, if so, in the phase that is for them. */
export const missingServer = servers.find(({ missing }) => missing !== undefined)?.missing;

/** Settings for fresh read models and documents on the production engines; the log is shared. */
export function productionSettings(): Record<string, string> {
  const [log, database, storage] = servers.map(({ url }) => url ?? '');
  const name = `chartledger_test_${randomBytes(6).toString('hex')}`;
  const databaseUrl = new URL(database ?? '');
  databaseUrl.pathname = `/${name}`;
  return {
    EVENT_LOG_URL: log ?? '',
    READ_MODEL_URL: databaseUrl.href,
    DOCUMENTS_URL: `gs://${gcsBucket}/${name}?endpoint=${storage}`,
  };
}

/** Starts a service on the production engines; `env` overrides settings. */
export async function startOnProduction(env: Record<string, string> = {}): Promise<TestService> {
  const settings = { ...productionSettings(), ...env };
  await skipHistory(settings);
  return startTestService(settings);
}

/** What a shared log holds already is none of a test's business: its read models begin at the log's head. */
async function skipHistory({
  EVENT_LOG_URL = '',
  READ_MODEL_URL = '',
}: Record<string, string>): Promise<void> {
  const eventLog = await openEventLog(EVENT_LOG_URL);
  const readModels = await openReadModels(READ_MODEL_URL);
  const head = await eventLog.head();
  for (const projection of projections) await readModels.write(modelName(projection), [], head);
  await Promise.all([eventLog.close(), readModels.close()]);
}

import { createHash, randomBytes } from 'node:crypto';
import { describe } from 'vitest';
import { projections } from '../../projections/index.ts';
import { modelName } from '../../projections/projection.ts';
import { openEventLog, openReadModels } from '../../src/server/openStorage.ts';
import type { ServiceOptions } from '../../src/server/service.ts';

import { eventually } from './eventually.ts';
import { startOwnLog } from './ownLog.ts';
import { eventStoreDb, gcsBucket, googleCloudStorage, mongoDb } from './servers.ts';
import { startTestService, type TestService } from './service.ts';
import type { StandIn } from './standIn.ts';

/** Starts a service on one set of engines; `env` overrides settings. */
export type StartService = (env?: Record<string, string>, timing?: ServiceOptions) => Promise<TestService>;

/** The production engines have a phase of their own, which needs their servers. */
const isProductionPhase = process.env.TEST_PHASE === 'production';

/** A set of engines. */
export interface Engines {
  /** Settings of a service on fresh stores, for a process of its own; the embedded engines are in its DATA_DIR. */
  settings(): Record<string, string>;
  /** The server that keeps the log, where it is one of the tests' own. */
  logServer: StandIn | undefined;
}

const embedded: Engines = { settings: () => ({}), logServer: undefined };

/** Runs a suite on the embedded engines, and in its phase on the production engines where their servers are at hand. */
export function onEveryEngine(suite: (start: StartService, engines: Engines) => void): void {
  if (!isProductionPhase) {
    describe('embedded engines', () => suite(startTestService, embedded));
  } else if (missingServer !== undefined) {
    describe.skip(`production engines (${missingServer})`, () =>
      suite(startOnProduction, production(undefined)));
  } else {
    describe('production engines', async () => {
      const log = await startOwnLog();
      suite((env, timing) => startOnProduction({ ...placeOf(log), ...env }, timing), production(log));
    });
  }
}

/**
 * Runs a suite on the embedded engines alone, in the form of `onEveryEngine`: for what is decided before a store is asked, or after it
 * has answered.
 */
export function onEmbeddedEngines(suite: (start: StartService) => void): void {
  describe('embedded engines', () => suite(startTestService));
}

const production = (log: StandIn | undefined): Engines => ({
  settings: () => ({ ...productionSettings(), ...placeOf(log) }),
  logServer: log,
});

const servers = isProductionPhase ? await Promise.all([eventStoreDb(), mongoDb(), googleCloudStorage()]) : [];

/** Why services cannot be started on the production engines, if so, in the phase that is for them. */
export const missingServer = servers.find(({ missing }) => missing !== undefined)?.missing;

const placeOf = (log: StandIn | undefined) => (log ? { EVENT_LOG_URL: log.url } : {});

/** Of an Ed25519 private key (PKCS#8, DER), before its 32 bytes. */
const SIGNING_KEY_BEGIN = Buffer.from('302e020100300506032b657004220420', 'hex');
const keyNamed = (name: string) => createHash('sha256').update(name).digest();

/** The services of a log have one set of keys, though each has a data folder of its own. */
const sharedKeys = {
  ...Object.fromEntries(
    ['DEIDENTIFICATION_KEY', 'WEBHOOK_SECRETS_KEY', 'TOTP_SECRETS_KEY'].map((name) => [
      name,
      keyNamed(name).toString('base64'),
    ]),
  ),
  SIGNING_KEY: Buffer.concat([SIGNING_KEY_BEGIN, keyNamed('SIGNING_KEY')]).toString('base64'),
};

/** Settings for fresh read models and documents on the production engines; services share the log. */
export function productionSettings(): Record<string, string> {
  const [log, database, storage] = servers.map(({ url }) => url ?? '');
  const name = `chartledger_test_${randomBytes(6).toString('hex')}`;
  const databaseUrl = new URL(database ?? '');
  databaseUrl.pathname = `/${name}`;
  return {
    EVENT_LOG_URL: log ?? '',
    READ_MODEL_URL: databaseUrl.href,
    DOCUMENTS_URL: `gs://${gcsBucket}/${name}?endpoint=${storage}`,
    ...sharedKeys,
  };
}

/** Starts a service on the production engines; `env` overrides settings. */
export async function startOnProduction(
  env: Record<string, string> = {},
  timing: ServiceOptions = {},
): Promise<TestService> {
  const settings = { ...productionSettings(), ...env };
  await skipHistory(settings);
  return startTestService(settings, timing);
}

/** What a shared log holds already is none of a test's business: its read models begin at the log's head. */
async function skipHistory({
  EVENT_LOG_URL = '',
  READ_MODEL_URL = '',
}: Record<string, string>): Promise<void> {
  const eventLog = await openEventLog(EVENT_LOG_URL);
  const readModels = await openReadModels(READ_MODEL_URL);
  const head = await eventLog.head();
  for (const model of projections.map(modelName)) {
    await eventually(async () => {
      await readModels.begin(model, await eventLog.identity());
      await readModels.write({ model, rows: [], checkpoint: head });
    });
  }
  await Promise.all([eventLog.close(), readModels.close()]);
}

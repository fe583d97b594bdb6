import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { destination } from 'pino';
import type { readinessDetails } from '../../src/api/routes/service.ts';
import type { JsonObject, RecordedEvent } from '../../src/domain/events/event.ts';
import type { Permission } from '../../src/modules/auth/apiKeys.ts';
import { KeyDirectory } from '../../src/modules/auth/keyDirectory.ts';
import { type CreatedKey, KeyManager } from '../../src/modules/auth/keyManager.ts';
import { type Config, loadConfig } from '../../src/platform/config.ts';
import { createLogger } from '../../src/platform/logging.ts';
import { openEventLog } from '../../src/server/openStorage.ts';
import { type ServiceOptions, startService } from '../../src/server/service.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';

import { Client } from './client.ts';
import { readAll } from './events.ts';
import { outputFolder } from './output.ts';

const logger = createLogger(
  'trace',
  destination({ dest: `${outputFolder}/logs/${process.pid}.log`, sync: true }),
);

/** What `/readyz` at the port of the metrics answers. */
type ReadinessDetails = Awaited<ReturnType<typeof readinessDetails>> &
  Required<Pick<Awaited<ReturnType<typeof readinessDetails>>, 'projections'>>;

/** Resolves with what operators are told at the port of these metrics. */
export async function readinessAt(metricsUrl: string): Promise<ReadinessDetails> {
  const answer = await fetch(new URL('/readyz', metricsUrl));
  return (await answer.json()) as ReadinessDetails;
}

/** A running service over fresh stores, with what a test needs to talk to it and to look at its event log. */
export interface TestService extends Client {
  config: Config;
  /** The link that makes the dashboard's first administrator; undefined where the log holds users. */
  setupUrl: string | undefined;
  /** Where its metrics are, if they are served. */
  metricsUrl: string | undefined;
  /** What `/readyz` tells operators, with `METRICS_PORT`. */
  readiness(): Promise<ReadinessDetails>;
  /** Where it takes messages over MLLP, with the role for it. */
  mllpPorts: readonly number[];
  /** Its own connection to the log. */
  eventLog: EventLog;
  /** The full id of a workspace that this service's tests call by its label: other suites may share its log. */
  workspaceId(label: string): string;
  /** Makes another key, in the workspace of that label; workspaces are made when missing. */
  createKey(label: string, permissions?: Permission[]): Promise<CreatedKey>;
  keys: KeyManager;
  /** The same service with another key. */
  as(key: string | undefined): Client;
  /** Starts one more process's worth of service on the same stores; `env` overrides settings. */
  another(
    env: Record<string, string>,
    timing?: ServiceOptions,
  ): Promise<Client & Pick<TestService, 'mllpPorts' | 'stop'>>;
  /** Stops the service and starts it again on the same stores, at another address; `meanwhile` runs between. */
  restart(meanwhile?: () => unknown): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts a service with its rate limit off. `env` overrides settings. The client's key may write and read in the
 * workspace `clinic`.
 */
export async function startTestService(
  env: Record<string, string> = {},
  timing: ServiceOptions = {},
): Promise<TestService> {
  const folder = mkdtempSync(join(tmpdir(), 'chartledger-test-'));
  const settings = {
    DATA_DIR: folder,
    PORT: '0',
    // A clock of the test's own is that of one thread.
    REQUEST_THREADS: timing.clock ? '1' : (process.env.TEST_REQUEST_THREADS ?? '1'),
    RATE_LIMIT_PER_MINUTE: '0',
    DASHBOARD_RATE_LIMIT_PER_MINUTE: '0',
    NODE_ENV: 'production',
    LOG_LEVEL: 'trace',
    ...env,
  };
  const config = loadConfig(settings);
  const eventLog = await openEventLog(config.eventLogUrl);
  const directory = await KeyDirectory.open(eventLog);
  const keys = new KeyManager(directory, { principal: { type: 'operator', id: 'test' } });
  const suffix = `_${randomBytes(4).toString('hex')}`;
  const workspaceId = (label: string) => label + suffix;
  const createKey = (label: string, permissions: Permission[] = ['write', 'read']) =>
    keys.createKey(workspaceId(label), 'Test key', permissions);
  const { key } = await createKey('clinic');
  let service = await startService(config, logger, timing);
  return Object.assign(new Client(service.url, key), {
    config,
    setupUrl: service.setupUrl,
    metricsUrl: service.metricsUrl,
    readiness(this: TestService) {
      return readinessAt(String(this.metricsUrl));
    },
    mllpPorts: service.mllpPorts,
    eventLog,
    workspaceId,
    createKey,
    keys,
    as: (other: string | undefined) => new Client(service.url, other),
    async another(more: Record<string, string>, otherTiming: ServiceOptions = {}) {
      const other = await startService(
        loadConfig({ ...settings, ...(otherTiming.clock && { REQUEST_THREADS: '1' }), ...more }),
        logger,
        otherTiming,
      );
      const { mllpPorts } = other;
      return Object.assign(new Client(other.url, key), { mllpPorts, stop: () => other.stop() });
    },
    async restart(this: TestService, meanwhile: () => unknown = () => undefined) {
      await service.stop();
      await meanwhile();
      service = await startService(config, logger, timing);
      this.url = service.url;
      this.metricsUrl = service.metricsUrl;
      this.mllpPorts = service.mllpPorts;
    },
    async stop() {
      await service.stop();
      directory.close();
      await eventLog.close();
      await rm(folder, { recursive: true, force: true });
    },
  });
}

/**
 * The events that `work` had appended, as `stream: type` lines in log order, workspaces by their labels. Every API
 * test states them: none, for a request that is refused. What was read or refused is not among them: see `accessesBy`
 * and `refusalsBy`.
 */
export async function appendedBy(service: TestService, work: () => Promise<unknown>): Promise<string[]> {
  const events = await changesBy(service, work);
  const suffix = service.workspaceId('');
  return events.map(({ stream, type }) => `${stream.replace(`${suffix}.`, '.')}: ${type}`);
}

/** The data of what `work` read, as the audit trail tells. */
export async function accessesBy(service: TestService, work: () => Promise<unknown>): Promise<JsonObject[]> {
  return recordedBy(service, work, ({ action }) => action !== 'request.refused');
}

/** The data of the requests of known keys that `work` sent and that were refused, as the audit trail tells. */
export async function refusalsBy(service: TestService, work: () => Promise<unknown>): Promise<JsonObject[]> {
  return recordedBy(service, work, ({ action }) => action === 'request.refused');
}

async function recordedBy(
  service: TestService,
  work: () => Promise<unknown>,
  wanted: (data: JsonObject) => boolean,
): Promise<JsonObject[]> {
  const events = await newEvents(service, work);
  return events.filter(({ type, data }) => type === 'AccessRecorded' && wanted(data)).map(({ data }) => data);
}

const byItself = ['AccessRecorded', 'EncounterReadinessChanged', 'ReadinessRulesApplied', 'ReadinessCounted'];

/**
 * The events, whole, by which `work` changed this service's workspaces: without what was read or refused, and without what the service
 * makes of changes by itself, some time later.
 */
export async function changesBy(
  service: TestService,
  work: () => Promise<unknown>,
): Promise<RecordedEvent[]> {
  const events = await newEvents(service, work);
  return events.filter(({ type }) => !byItself.includes(type));
}

/** The events that `work` had appended to this service's workspaces, whole. */
export async function newEvents(
  service: TestService,
  work: () => Promise<unknown>,
): Promise<RecordedEvent[]> {
  const before = await service.eventLog.head();
  await work();
  const events = await readAll(service.eventLog, before);
  const suffix = service.workspaceId('');
  return events.filter(({ metadata }) => metadata?.workspace?.endsWith(suffix));
}

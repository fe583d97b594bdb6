import type { Logger } from 'pino';
import { settleAbandonedUploads } from '../commands/uploadDocument.ts';
import type { Config } from '../config.ts';
import { dashboardApp } from '../dashboard/shell/dashboardApp.ts';
import type { DashboardPorts } from '../dashboard/shell/routes.ts';
import { describeError } from '../errors.ts';
import { parseSigningKey } from '../evidence/signing.ts';
import { ClockWatch } from '../health/ClockWatch.ts';
import { StoreWatch } from '../health/StoreWatch.ts';
import { apiRoutes, healthRoutes } from '../http/endpoints/index.ts';
import { clientIpReader } from '../http/server/clientIpReader.ts';
import { createApp } from '../http/server/createApp.ts';
import type { ArrivalTimes } from '../http/server/createHttpServer.ts';
import { HttpServer } from '../http/server/HttpServer.ts';
import { rateLimit } from '../http/server/rateLimit.ts';
import type { EndpointContext } from '../http/server/serveEndpoint.ts';
import { type Clock, systemClock } from '../ports/clock.ts';
import { createFirstKey } from '../principals/keys/createFirstKey.ts';
import { KeyDirectory } from '../principals/keys/KeyDirectory.ts';
import type { CreatedKey } from '../principals/keys/KeyManager.ts';
import { issueFirstSetupLink } from '../principals/users/issueFirstSetupLink.ts';
import { KnownKeys } from '../sameLog/KnownKeys.ts';
import { ownReadModels } from '../sameLog/ownReadModels.ts';
import { requireStoresOfLog } from '../sameLog/requireStoresOfLog.ts';
import { SharedFlag } from '../threads/SharedFlag.ts';
import type { RetrySchedule } from '../webhooks/delivery/schedule.ts';
import { WebhookDirectory } from '../webhooks/settings/WebhookDirectory.ts';
import { keepFilesPrivate } from './keepFilesPrivate.ts';
import { checkKeys, type LastingKeyName, lastingKeys, loadSessionSecret } from './keyFiles.ts';
import { openApiPorts } from './openApiPorts.ts';
import {
  openDocumentStore,
  openEventLog,
  openRateLimiters,
  openReadModels,
  openStateStore,
} from './openBackend.ts';
import { type HeadPauses, type HeadStores, type HeadsRole, startHeads } from './startHeads.ts';
import { startProjector } from './startProjector.ts';
import { startWebhooks } from './startWebhooks.ts';

/** A service that runs. */
export interface Service {
  /** Where it listens: `http://127.0.0.1:3000`. */
  url: string;
  /** The key made at the very first start. */
  firstKey: CreatedKey | undefined;
  /** While there is no user: where the first one is made, once. */
  setupUrl: string | undefined;
  /** Answers what was accepted, then closes everything. */
  stop(): Promise<void>;
}

const SETTLE_EVERY_MS = 15_000;
/** For so long a start waits for an event log on a server that is away. */
const START_PATIENCE_MS = 60_000;

export interface ServiceOptions {
  /** Ends a start that is under way. */
  stopping?: AbortSignal;
  /** Set by tests alone, so that they need not wait. */
  webhookSchedule?: RetrySchedule;
  headPauses?: HeadPauses;
  arrivalTimes?: ArrivalTimes;
  /** By which idempotency keys expire. */
  clock?: Clock;
}

/**
 * Starts everything the configuration asks for; rejects, with nothing left running, when that fails, or with the reason
 * of `stopping`.
 */
export async function startService(
  config: Config,
  logger: Logger,
  { stopping, webhookSchedule, headPauses, arrivalTimes, clock = systemClock }: ServiceOptions = {},
): Promise<Service> {
  const step = <Result>(work: Promise<Result>) => unlessStopped(work, stopping);
  const draining = new AbortController();
  const stops: (() => unknown)[] = [];
  const stop = async () => {
    for (const stopOne of stops.splice(0).reverse()) await stopOne();
  };
  try {
    keepFilesPrivate(config, logger);
    await step(checkKeys(config, logger));
    const waiting = (problem: string) => logger.warn({ problem }, 'the start waits for the event log');
    const eventLog = await step(openEventLog(config.eventLogUrl, { ms: START_PATIENCE_MS, waiting }));
    stops.push(() => eventLog.close());
    const awaited = new SharedFlag();
    const allReadModels = await step(openReadModels(config.readModelUrl));
    const readModels = ownReadModels(allReadModels, eventLog, () => awaited.raise());
    stops.push(() => readModels.close());
    const stateStore = await step(openStateStore(config.stateUrl));
    stops.push(() => stateStore.close());
    const documentStore = await step(openDocumentStore(config.documentsUrl));
    stops.push(() => documentStore.close());
    await step(requireStoresOfLog({ eventLog, readModels, documentStore }, config, logger));
    const knownKeys = new KnownKeys(eventLog, lastingKeys(config));
    await step(knownKeys.require(neededKeys(config), config.allowOtherKeys));
    const limiters = await step(openRateLimiters(config.stateUrl));
    stops.push(() => limiters.close());
    const directory = await step(KeyDirectory.open(eventLog));
    stops.push(() => directory.close());
    const webhookDirectory = await step(WebhookDirectory.open(eventLog));
    stops.push(() => webhookDirectory.close());
    const stores = {
      eventLog,
      readModels,
      stateStore,
      documentStore,
      limiters,
      directory,
      webhookDirectory,
      knownKeys,
    };
    const isApi = config.roles.includes('api');
    if (isApi)
      stops.push(await step(keepSettling(() => settleAbandonedUploads(eventLog, documentStore), logger)));
    const projector = config.roles.includes('projector')
      ? startProjector(config, logger, awaited)
      : undefined;
    stops.push(() => projector?.stop());
    const heads = await step(openHeads(config, logger, stores, headPauses));
    stops.push(() => heads?.stop());
    if (config.roles.includes('webhooks')) {
      stops.push(startWebhooks(config, logger, webhookDirectory, webhookSchedule));
    }

    const context = {
      gate: { directory, limit: rateLimit(limiters, config.rateLimitPerMinute) },
      eventLog,
      logger,
      draining: draining.signal,
      clientIp: clientIpReader(config.trustProxy),
      trustProxy: config.trustProxy,
    };
    const api = isApi ? await step(openApiPorts(config, logger, { ...stores, clock })) : undefined;
    const storeWatch = new StoreWatch(stores, logger);
    stops.push(() => storeWatch.close());
    const clockWatch = new ClockWatch(eventLog, logger);
    stops.push(() => clockWatch.close());
    const failingRoles = () => new Set(projector?.failing() ? (['projector'] as const) : []);
    const findings = () => heads?.findings() ?? [];
    const health = { eventLog, readModels, storeWatch, roles: config.roles, failingRoles, findings };
    const routes = [...(api ? apiRoutes(api.ports, config.openapiPublic) : []), ...healthRoutes(health)];
    const app = createApp(routes, context, api && (await openDashboard(config, api.ports, context)));
    const server = await step(HttpServer.listen(app, config, logger, arrivalTimes));
    stops.push(() => api?.settle());
    stops.push(() => server.drain());
    stops.push(() => api?.close());
    stops.push(() => draining.abort());
    const { url } = server;
    // Last, so that a start that fails never makes a key or a link that nobody gets to see.
    const firstKey = config.production || !isApi ? undefined : await createFirstKey(directory);
    const token = api && (await issueFirstSetupLink(api.ports.users));
    const setupUrl = token && `${config.publicUrl ?? url}/dashboard/setup?token=${token}`;
    return { url, firstKey, setupUrl, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function openDashboard(
  config: Config,
  ports: DashboardPorts,
  { logger, clientIp, draining }: Omit<EndpointContext, 'bodies'>,
): Promise<ReturnType<typeof dashboardApp>> {
  const sessionSecret = await loadSessionSecret(config);
  const { trustProxy } = config;
  return dashboardApp({ ports, logger, clientIp, draining, sessionSecret, trustProxy });
}

/** The role that sends heads, where the process has it. */
async function openHeads(
  { headsTo, ...config }: Config,
  logger: Logger,
  stores: Omit<HeadStores, 'signingKey'> & { knownKeys: KnownKeys<LastingKeyName> },
  pauses: HeadPauses | undefined,
): Promise<HeadsRole | undefined> {
  if (headsTo === undefined || !config.roles.includes('heads')) return undefined;
  const signingKey = async () => parseSigningKey(await stores.knownKeys.load('signing'));
  return startHeads({ ...config, headsTo }, logger, { ...stores, signingKey }, pauses);
}

/** The keys that work with what the log holds; the role `heads` can wait for its own. */
function neededKeys({ roles }: Config): LastingKeyName[] {
  if (roles.includes('api')) return ['deidentification', 'webhookSecrets', 'totpSecrets'];
  return roles.includes('webhooks') ? ['deidentification', 'webhookSecrets'] : [];
}

/** Settles abandoned uploads now and again and again; a store that is away is asked again. The result ends it. */
async function keepSettling(settle: () => Promise<void>, logger: Logger): Promise<() => void> {
  const attempt = () =>
    settle().catch((error) => logger.warn({ error: describeError(error) }, 'abandoned uploads wait'));
  await attempt();
  const timer = setInterval(attempt, SETTLE_EVERY_MS);
  return () => clearInterval(timer);
}

/** What `work` gives; rejects with the signal's reason as soon as that aborts, whatever becomes of the work. */
async function unlessStopped<Result>(
  work: Promise<Result>,
  stopping: AbortSignal | undefined,
): Promise<Result> {
  if (stopping === undefined) return work;
  stopping.throwIfAborted();
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const stop = () => reject(stopping.reason);
  stopping.addEventListener('abort', stop);
  return Promise.race([work, stopped]).finally(() => stopping.removeEventListener('abort', stop));
}

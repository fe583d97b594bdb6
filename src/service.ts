import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { keepFilesPrivate } from './backends/keepFilesPrivate.ts';
import {
  loadSessionSecret,
  openDocumentStore,
  openEventLog,
  openRateLimiters,
  openReadModels,
  openStateStore,
} from './backends/openBackend.ts';
import { settleAbandonedUploads } from './commands/uploadDocument.ts';
import type { Config } from './config.ts';
import { describeError } from './errors.ts';
import { clientIpReader } from './http/clientIp.ts';
import { createApp } from './http/createApp.ts';
import { dashboardApp } from './http/dashboard/dashboardApp.ts';
import type { DashboardPorts } from './http/dashboard/routes.ts';
import type { EndpointContext } from './http/endpoint.ts';
import { rateLimit } from './http/rateLimit.ts';
import { apiRoutes, healthRoutes } from './http/routes/index.ts';
import { AccessDirectory } from './keys/AccessDirectory.ts';
import { createFirstKey } from './keys/createFirstKey.ts';
import type { CreatedKey } from './keys/manageAccess.ts';
import { openApiPorts } from './openApiPorts.ts';
import { startProjector } from './projector/startProjector.ts';
import { ownReadModels } from './queries/ownReadModels.ts';
import { issueFirstSetupLink } from './users/issueFirstSetupLink.ts';
import type { RetrySchedule } from './webhooks/schedule.ts';
import { startWebhooks } from './webhooks/startWebhooks.ts';
import { WebhookDirectory } from './webhooks/WebhookDirectory.ts';

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

/** Slow links may need long for 250 MB. */
const REQUEST_TIMEOUT_MS = 3_600_000;
const DRAIN_MS = 10_000;
const SETTLE_EVERY_MS = 3_600_000;

/** What is set by tests alone, so that they need not wait. */
export interface ServiceTiming {
  webhookSchedule?: RetrySchedule;
}

/** Starts everything the configuration asks for; rejects, with nothing left running, when that fails. */
export async function startService(
  config: Config,
  logger: Logger,
  { webhookSchedule }: ServiceTiming = {},
): Promise<Service> {
  const stops: (() => unknown)[] = [];
  const stop = async () => {
    for (const stopOne of stops.splice(0).reverse()) await stopOne();
  };
  try {
    keepFilesPrivate(config, logger);
    const eventLog = await openEventLog(config.eventLogUrl);
    stops.push(() => eventLog.close());
    const readModels = ownReadModels(await openReadModels(config.readModelUrl), eventLog);
    stops.push(() => readModels.close());
    const stateStore = await openStateStore(config.stateUrl);
    stops.push(() => stateStore.close());
    const documentStore = await openDocumentStore(config.documentsUrl);
    stops.push(() => documentStore.close());
    const limiters = await openRateLimiters(config.stateUrl);
    stops.push(() => limiters.close());
    const directory = await AccessDirectory.open(eventLog);
    stops.push(() => directory.close());
    const webhookDirectory = await WebhookDirectory.open(eventLog);
    stops.push(() => webhookDirectory.close());
    const stores = { eventLog, readModels, stateStore, documentStore, limiters, directory, webhookDirectory };
    const isApi = config.roles.includes('api');
    if (isApi) stops.push(await keepSettling(() => settleAbandonedUploads(eventLog, documentStore), logger));
    if (config.roles.includes('projector')) stops.push(startProjector(config, logger));
    if (config.roles.includes('webhooks')) {
      stops.push(startWebhooks(config, logger, webhookDirectory, webhookSchedule));
    }

    const context = {
      gate: { directory, limit: rateLimit(limiters, config.rateLimitPerMinute) },
      eventLog,
      logger,
      clientIp: clientIpReader(config.trustProxy),
    };
    const api = isApi ? await openApiPorts(config, stores) : undefined;
    const routes = [...(api ? apiRoutes(api.ports, config.openapiPublic) : []), ...healthRoutes(stores)];
    const app = createApp(routes, context, api && (await openDashboard(config, api.ports, context)));
    const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, app);
    server.listen(config.port, config.host);
    await once(server, 'listening');
    stops.push(() => drain(server));
    stops.push(() => api?.close());
    const url = urlOf(server, config.host);
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
  { logger, clientIp }: EndpointContext,
): Promise<ReturnType<typeof dashboardApp>> {
  const sessionSecret = await loadSessionSecret(config);
  const { trustProxy } = config;
  return dashboardApp({ ports, logger, clientIp, sessionSecret, trustProxy });
}

/** Settles abandoned uploads now and every hour; a store that is away is asked again. The result ends it. */
async function keepSettling(settle: () => Promise<void>, logger: Logger): Promise<() => void> {
  const attempt = () =>
    settle().catch((error) => logger.warn({ error: describeError(error) }, 'abandoned uploads wait'));
  await attempt();
  const timer = setInterval(attempt, SETTLE_EVERY_MS);
  return () => clearInterval(timer);
}

function urlOf(server: Server, host: string): string {
  const { port } = server.address() as AddressInfo;
  const name =
    host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${port}`;
}

async function drain(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeIdleConnections();
  const force = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await closed;
  clearTimeout(force);
}

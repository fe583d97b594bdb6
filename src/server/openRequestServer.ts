import type { Logger } from 'pino';
import { fhirRoutes } from '../api/routes/fhirRoutes.ts';
import { apiRoutes, healthRoutes } from '../api/routes/index.ts';
import { clientIpReader } from '../api/server/clientIpReader.ts';
import { createApp } from '../api/server/createApp.ts';
import type { HttpTimes } from '../api/server/createHttpServer.ts';
import { HttpServer, type HttpServerSettings } from '../api/server/HttpServer.ts';
import { rateLimit } from '../api/server/rateLimit.ts';
import type { EndpointContext } from '../api/server/serveEndpoint.ts';
import { dashboardApp } from '../dashboard/dashboardApp.ts';
import type { DashboardPorts } from '../dashboard/routes.ts';
import { UnknownKeyTally } from '../modules/audit/UnknownKeyTally.ts';
import type { UserDirectory } from '../modules/auth/UserDirectory.ts';
import { MessageStore } from '../modules/integrations/messages/MessageStore.ts';
import type { ProcessState } from '../modules/readiness.ts';
import { settleAbandonedUploads } from '../modules/records/commands/uploadDocument.ts';
import type { Config } from '../platform/config.ts';
import { describeError } from '../platform/errors.ts';
import { watchEventLoop } from '../platform/threads/watchEventLoop.ts';
import { loadSessionSecret } from './keyFiles.ts';
import { type OpenStores, openApiPorts } from './openApiPorts.ts';
import type { TaskPlaces } from './SharedMemory.ts';

const SETTLE_EVERY_MS = 15_000;

export interface RequestServerOptions {
  /** Number of the thread; default: that of the first one. */
  thread?: number;
  listening: HttpServerSettings;
  /** Returns the state of the whole process. */
  processState(): Promise<ProcessState>;
  /** The places shared by all threads; private ones if not given. */
  places?: TaskPlaces;
  times: HttpTimes | undefined;
}

/** Answers the requests of a thread. */
export interface RequestServer {
  url: string;
  port: number;
  /** Present in a process that has the role `api`. */
  users: UserDirectory | undefined;
  /** Answers what was accepted, and ends. */
  stop(): Promise<void>;
}

/** Starts answering requests, according to the roles of the process. On rejection nothing is left open. */
export async function openRequestServer(
  config: Config,
  logger: Logger,
  stores: OpenStores,
  { thread = 0, listening, processState, places, times }: RequestServerOptions,
): Promise<RequestServer> {
  const { eventLog, documentStore, directory, limiters } = stores;
  const draining = new AbortController();
  const isApi = config.roles.includes('api');
  const settle = () => settleAbandonedUploads(eventLog, documentStore, new MessageStore(stores));
  const endSettling = isApi ? await keepSettling(settle, logger) : () => undefined;
  const api = isApi
    ? await openApiPorts(config, logger, stores, places).catch((error) => {
        endSettling();
        throw error;
      })
    : undefined;
  const close = async () => {
    await api?.close();
    endSettling();
  };
  const unknownKeys = new UnknownKeyTally(eventLog);
  try {
    const context = {
      gate: { directory, limit: rateLimit(limiters, config.rateLimitPerMinute), unknownKeys },
      eventLog,
      logger,
      draining: draining.signal,
      clientIp: clientIpReader(config.trustProxy),
      trustProxy: config.trustProxy,
    };
    const routes = [
      ...(api ? [...apiRoutes(api.ports, config.openapiPublic), ...fhirRoutes(api.ports)] : []),
      ...healthRoutes({ roles: config.roles, processState }),
    ];
    const app = createApp(routes, context, api && (await openDashboard(config, api.ports, context)));
    const server = await HttpServer.listen(app, listening, logger, times);
    const endWatch = watchEventLoop(thread);
    return {
      url: server.url,
      port: server.port,
      users: api?.ports.users,
      async stop() {
        draining.abort();
        endWatch();
        await api?.close();
        await server.drain();
        await api?.settle();
        await unknownKeys
          .flush()
          .catch((error) =>
            logger.warn(
              { error: describeError(error) },
              'unknown keys could not be recorded in the audit trail',
            ),
          );
        endSettling();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function openDashboard(
  config: Config,
  ports: DashboardPorts,
  { logger, clientIp, draining }: Omit<EndpointContext, 'bodies' | 'load'>,
): Promise<ReturnType<typeof dashboardApp>> {
  const sessionSecret = await loadSessionSecret(config);
  const { trustProxy } = config;
  return dashboardApp({ ports, logger, clientIp, draining, sessionSecret, trustProxy });
}

/** Settles abandoned uploads now and at intervals; retries when a store is unavailable. The returned function ends it. */
async function keepSettling(settle: () => Promise<void>, logger: Logger): Promise<() => void> {
  const attempt = () =>
    settle().catch((error) =>
      logger.warn({ error: describeError(error) }, 'abandoned uploads could not be settled yet'),
    );
  await attempt();
  const timer = setInterval(attempt, SETTLE_EVERY_MS);
  return () => clearInterval(timer);
}

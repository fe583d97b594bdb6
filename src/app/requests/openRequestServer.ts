import type { Logger } from 'pino';
import { UnknownKeyTally } from '../../audit/UnknownKeyTally.ts';
import { settleAbandonedUploads } from '../../commands/uploadDocument.ts';
import type { Config } from '../../config.ts';
import { dashboardApp } from '../../dashboard/shell/dashboardApp.ts';
import type { DashboardPorts } from '../../dashboard/shell/routes.ts';
import { describeError } from '../../errors.ts';
import type { ProcessState } from '../../health/readiness.ts';
import { apiRoutes, healthRoutes } from '../../http/endpoints/index.ts';
import { fhirRoutes } from '../../http/fhir/fhirRoutes.ts';
import { clientIpReader } from '../../http/server/clientIpReader.ts';
import { createApp } from '../../http/server/createApp.ts';
import type { HttpTimes } from '../../http/server/createHttpServer.ts';
import { HttpServer, type HttpServerSettings } from '../../http/server/HttpServer.ts';
import { rateLimit } from '../../http/server/rateLimit.ts';
import type { EndpointContext } from '../../http/server/serveEndpoint.ts';
import { MessageStore } from '../../messages/MessageStore.ts';
import type { UserDirectory } from '../../principals/users/UserDirectory.ts';
import { watchEventLoop } from '../../threads/watchEventLoop.ts';
import { loadSessionSecret } from '../keys/keyFiles.ts';
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

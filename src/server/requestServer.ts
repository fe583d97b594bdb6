import type { Express } from 'express';
import type { Logger } from 'pino';
import { openBatches } from '../api/routes/batchRunner.ts';
import { fhirRoutes } from '../api/routes/fhirResources.ts';
import { tokenRoutes } from '../api/routes/fhirToken.ts';
import { apiRoutes, healthRoutes } from '../api/routes/index.ts';
import { rateLimit } from '../api/server/admission.ts';
import { createApp } from '../api/server/app.ts';
import { HttpServer, type HttpServerSettings, type HttpTimes } from '../api/server/httpServer.ts';
import { clientIpReader } from '../api/server/requestContext.ts';
import type { DashboardContext, DashboardPorts } from '../dashboard/app.ts';
import { AccessTally } from '../modules/audit/accessIndex.ts';
import { UnknownKeyTally } from '../modules/audit/requestLog.ts';
import { AccessTokens } from '../modules/auth/accessTokens.ts';
import { ClientAssertions } from '../modules/auth/clientAssertions.ts';
import { KeyDirectory } from '../modules/auth/keyDirectory.ts';
import { IdentityProvider } from '../modules/auth/openIdConnect.ts';
import { sharePasswordSemaphore } from '../modules/auth/passwords.ts';
import { openSignInLimits } from '../modules/auth/signIn.ts';
import { SecondFactor } from '../modules/auth/twoFactor.ts';
import { UserDirectory } from '../modules/auth/users.ts';
import { Consumers } from '../modules/eventStream/consumers.ts';
import { EventStream } from '../modules/eventStream/eventStream.ts';
import type { ProcessState } from '../modules/health.ts';
import { Reservations } from '../modules/idempotency/reservations.ts';
import { MessageClaims } from '../modules/integrations/messages/claims.ts';
import { MessageStore } from '../modules/integrations/messages/store.ts';
import { UnusedMessages } from '../modules/integrations/messages/unused.ts';
import { SourceCache } from '../modules/integrations/sources.ts';
import { Keyring } from '../modules/keyring.ts';
import { ownReadModels } from '../modules/projections/storeIdentity.ts';
import { openAnalyses } from '../modules/readiness/jobs.ts';
import { openWriteWarnings } from '../modules/readiness/warnings.ts';
import { settleAbandonedUploads } from '../modules/records/commands/documents.ts';
import { RecordExistence, ReferenceWaits } from '../modules/records/commands/references.ts';
import { RecordReturns } from '../modules/records/commands/returns.ts';
import { PrincipalNames } from '../modules/records/queries/principalNames.ts';
import { WebhookManager } from '../modules/webhooks/manager.ts';
import { createEgressPolicy } from '../modules/webhooks/settings.ts';
import { WebhookDirectory } from '../modules/webhooks/webhook.ts';
import type { Config } from '../platform/config.ts';
import { describeError } from '../platform/errors.ts';
import type { SharedFlag } from '../platform/threads/semaphore.ts';
import { isMeasured, watchEventLoop } from '../platform/threads/workers.ts';
import { isTracing } from '../platform/tracing.ts';
import type { DocumentStore } from '../storage/documentStore.ts';
import type { CountsMemory } from '../storage/engines/memory/rateLimiter.ts';
import type { EventLog } from '../storage/eventLog.ts';
import type { Clock, RateLimiters } from '../storage/rateLimiters.ts';
import type { ReadModels } from '../storage/readModels.ts';
import type { StateStore } from '../storage/stateStore.ts';
import { feedThread } from './eventStream.ts';
import { analyseInThread, openEvidence } from './integrity.ts';
import { loadSessionSecret, type ManagedKeyName, managedKeys } from './keys.ts';
import { measuredAppends, measuredLimiters } from './measuredStores.ts';
import {
  type EventLogOptions,
  openDocumentStore,
  openEventLog,
  openOwnStateStore,
  openRateLimiters,
  openReadModels,
} from './openStorage.ts';
import { RequestThreads } from './requestThreads.ts';
import { type ConcurrencyLimits, createSemaphores, type SharedMemory } from './sharedMemory.ts';

/**
 * Opens what is needed to accept records and messages, over open stores; `close` ends what was opened here. Rejects with
 * `unavailable`.
 */
export async function openIngestPorts(
  stores: Pick<
    OpenStores,
    'eventLog' | 'readModels' | 'stateStore' | 'documentStore' | 'directory' | 'knownKeys' | 'clock'
  >,
) {
  const { eventLog, readModels, stateStore, directory, knownKeys, clock } = stores;
  const messages = new MessageStore(stores);
  const secrets = () => knownKeys.all('webhookSecrets');
  const existence = new RecordExistence(eventLog, readModels);
  const referenceWaits = new ReferenceWaits(existence);
  const following = new AbortController();
  await existence.followErasures(following.signal);
  const ports = {
    existence,
    referenceWaits,
    returns: new RecordReturns(eventLog, (workspace) => directory.returnsOf(workspace)),
    warnings: openWriteWarnings(eventLog),
    sources: new SourceCache(eventLog),
    messages,
    unused: new UnusedMessages(stateStore),
    claims: new MessageClaims({ stateStore, clock, messages, secrets }),
  };
  const close = () => {
    following.abort();
    referenceWaits.close();
  };
  return { ports, close };
}

const PRUNE_EVERY_MS = 600_000;
const NOTE_CONSUMERS_EVERY_MS = 60_000;

export interface OpenStores {
  eventLog: EventLog;
  readModels: ReadModels;
  stateStore: StateStore;
  documentStore: DocumentStore;
  limiters: RateLimiters;
  directory: KeyDirectory;
  webhookDirectory: WebhookDirectory;
  knownKeys: Keyring<ManagedKeyName>;
  clock: Clock;
}

interface OpenApi {
  ports: Omit<DashboardPorts, 'requestLimit'> & { assertions: ClientAssertions; tokens: AccessTokens };
  sessionSecret: Buffer;
  settle(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens what the API and the dashboard work with, over open stores; `close` ends what was opened here, and `settle` does what is
 * left once the last request was answered.
 */
async function openApiPorts(
  config: Config,
  logger: Logger,
  { webhookDirectory, limiters, knownKeys, clock, ...stores }: OpenStores,
  places?: ConcurrencyLimits,
): Promise<OpenApi> {
  const { eventLog, readModels, stateStore, directory } = stores;
  const sessionSecret = await loadSessionSecret(config);
  const users = await UserDirectory.open(eventLog);
  const feed = new EventStream(feedThread(config.eventLogUrl), () => knownKeys.loadEpoch('deidentification'));
  const names = new PrincipalNames({ api_key: directory, user: users });
  const evidence = openEvidence(config, logger, { eventLog, stateStore, knownKeys }, places);
  const onFailure = (error: Record<string, unknown>) => logger.error({ error }, 'an analysis failed');
  const analyses = openAnalyses({
    stateStore,
    run: analyseInThread(config),
    onFailure,
    places: places?.analyses,
  });
  const secretsKeys = (isNow?: boolean) => knownKeys.all('webhookSecrets', isNow);
  const ingest = await openIngestPorts({ ...stores, knownKeys, clock });
  const ports = {
    ...stores,
    ...ingest.ports,
    evidence,
    analyses,
    names,
    webhookDirectory,
    webhooksOf: (workspace: string) => webhookDirectory.idsOf(workspace),
    users,
    signInLimits: openSignInLimits(limiters),
    secondFactor: new SecondFactor({ eventLog, users, totpSecretsKey: () => knownKeys.load('totpSecrets') }),
    requireTotp: config.dashboardRequireTotp,
    identityProvider: config.openIdConnect && new IdentityProvider(config.openIdConnect),
    publicUrl: config.publicUrl,
    openapiPublic: config.openapiPublic,
    retentionYears: config.retentionYears,
    notifications: {
      canMail: config.mail !== undefined,
      addresses: createEgressPolicy(config.webhookAllowNetworks),
      secretsKeys,
    },
    feed,
    consumers: new Consumers({ stateStore, clock }),
    tally: new AccessTally(eventLog),
    reservations: new Reservations({
      stateStore,
      clock,
      secrets: secretsKeys,
    }),
    assertions: new ClientAssertions({ ...stores, clock }),
    tokens: new AccessTokens(sessionSecret, { directory, clock }),
    batches: openBatches(config, limiters, logger),
    webhooks: new WebhookManager({
      eventLog,
      readModels,
      stateStore,
      directory: webhookDirectory,
      keys: directory,
      names,
      addresses: createEgressPolicy(config.webhookAllowNetworks),
      secretsKeys,
    }),
  };
  // What cannot be removed now is removed next time.
  const prune = () => Promise.allSettled([ports.reservations.prune(), ports.assertions.prune()]);
  const pruning = setInterval(prune, PRUNE_EVERY_MS);
  const isActive = (workspace: string) => directory.known.workspaces.get(workspace)?.state === 'active';
  const noteConsumers = () => ports.consumers.flush(isActive).catch(() => undefined);
  const noting = setInterval(noteConsumers, NOTE_CONSUMERS_EVERY_MS);
  const close = async () => {
    clearInterval(pruning);
    clearInterval(noting);
    ingest.close();
    users.close();
    await Promise.all([evidence.close(), analyses.close()]);
    await feed.close();
  };
  const settle = async () => {
    await ports.batches.close();
    await noteConsumers();
    await ports.tally
      .flush()
      .catch((error) =>
        logger.warn({ error: describeError(error) }, 'counts could not be recorded in the audit trail'),
      );
  };
  return { ports, sessionSecret, settle, close };
}

const SETTLE_EVERY_MS = 15_000;

interface RequestServerOptions {
  /** Number of the thread; default: that of the first one. */
  thread?: number;
  listening: HttpServerSettings;
  /** Returns the state of the whole process. */
  processState(): Promise<ProcessState>;
  /** The places shared by all threads; private ones if not given. */
  places?: ConcurrencyLimits;
  times: HttpTimes | undefined;
}

/** Answers the requests of a thread. */
interface RequestServer {
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
  const endSettling = isApi ? await scheduleCleanup(settle, logger) : () => undefined;
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
    const limit = rateLimit(limiters, config.rateLimitPerMinute);
    const gate = { directory, limit, unknownKeys, tokens: api?.ports.tokens };
    const context = {
      gate,
      eventLog,
      logger,
      draining: draining.signal,
      clientIp: clientIpReader(config.trustProxy),
      trustProxy: config.trustProxy,
    };
    const routes = [
      ...(api ? apiRoutes(api.ports, config.openapiPublic) : []),
      // Before FHIR's, for whose types they would otherwise be taken.
      ...(api ? [...tokenRoutes({ ...api.ports, gate }), ...fhirRoutes(api.ports)] : []),
      ...healthRoutes({ roles: config.roles, processState }),
    ];
    const dashboard = api && (() => loadDashboard(config, limiters, { ...context, ...api }));
    const app = createApp(routes, context, dashboard);
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

async function loadDashboard(
  { dashboardRateLimitPerMinute }: Config,
  limiters: RateLimiters,
  { ports, ...context }: Pick<OpenApi, 'ports' | 'sessionSecret'> & Omit<DashboardContext, 'ports'>,
): Promise<Express> {
  const [{ dashboardApp }, { requestLimit }] = await Promise.all([
    import('../dashboard/app.ts'),
    import('../dashboard/http/visit.ts'),
  ]);
  const limit = requestLimit(limiters, dashboardRateLimitPerMinute);
  return dashboardApp({ ...context, ports: { ...ports, requestLimit: limit } });
}

/** Settles abandoned uploads now and at intervals; retries when a store is unavailable. The returned function ends it. */
async function scheduleCleanup(settle: () => Promise<void>, logger: Logger): Promise<() => void> {
  const attempt = () =>
    settle().catch((error) =>
      logger.warn({ error: describeError(error) }, 'abandoned uploads could not be settled yet'),
    );
  await attempt();
  const timer = setInterval(attempt, SETTLE_EVERY_MS);
  return () => clearInterval(timer);
}

/** What must be checked before anything is read. */
type StoresToCheck = Pick<OpenStores, 'eventLog' | 'readModels' | 'documentStore' | 'knownKeys'>;

interface Opening {
  /** Returns a step's result; rejects when the start is to be aborted. */
  step<Result>(work: Promise<Result>): Promise<Result>;
  /** Collects the functions that close each store, to be called in reverse order. */
  stops: (() => unknown)[];
  eventLog: EventLogOptions;
  /** Raised when something waits for read models. */
  awaited: SharedFlag;
  /** Set if several threads count requests together. */
  counts: CountsMemory | undefined;
  clock: Clock;
  check?(stores: StoresToCheck): Promise<void>;
}

/** Opens what a thread needs to answer requests. */
export async function openStores(
  config: Config,
  { step, stops, eventLog: eventLogOptions, awaited, counts, clock, check }: Opening,
): Promise<OpenStores> {
  const open = async <Store extends { close(): unknown }>(opening: Promise<Store>): Promise<Store> => {
    const store = await step(opening);
    stops.push(() => store.close());
    return store;
  };
  const opened: EventLog = await open(openEventLog(config.eventLogUrl, eventLogOptions));
  const eventLog = isMeasured() || isTracing() ? measuredAppends(opened) : opened;
  const allReadModels = await open(openReadModels(config.readModelUrl));
  const readModels = ownReadModels(allReadModels, eventLog, () => awaited.raise());
  const stateStore = await open(openOwnStateStore(config, eventLog));
  const documentStore = await open(openDocumentStore(config.documentsUrl));
  const knownKeys = new Keyring(eventLog, managedKeys(config));
  if (check) await step(check({ eventLog, readModels, documentStore, knownKeys }));
  const limiters = measuredLimiters(await open(openRateLimiters(config.stateUrl, counts)));
  const directory = await open(KeyDirectory.open(eventLog));
  const webhookDirectory = await open(WebhookDirectory.open(eventLog));
  return {
    eventLog,
    readModels,
    stateStore,
    documentStore,
    limiters,
    directory,
    webhookDirectory,
    knownKeys,
    clock,
  };
}

interface ServingOptions {
  /** Returns the state of the whole process. */
  processState(): Promise<ProcessState>;
  /** Set if more threads than the calling one are to answer. */
  memory: SharedMemory | undefined;
  times: HttpTimes | undefined;
}

/** Everything that answers the requests of a process. */
interface Serving {
  url: string;
  users: UserDirectory | undefined;
  /** Resolves when all threads answer requests; rejects when one could not start. */
  started: Promise<unknown>;
  /** Answers what was accepted, and ends. */
  stop(): Promise<void>;
}

/** Answers requests in the calling thread, over its stores, and in as many additional threads as configured. */
export async function serveRequests(
  config: Config,
  logger: Logger,
  stores: OpenStores,
  { processState, memory, times }: ServingOptions,
): Promise<Serving> {
  if (memory === undefined) {
    const listening = { ...config, requestThreads: 1 };
    const server = await openRequestServer(config, logger, stores, { listening, processState, times });
    return { ...server, started: Promise.resolve() };
  }
  const { passwords, ...places } = createSemaphores(memory, 0);
  sharePasswordSemaphore(passwords);
  await HttpServer.requireFree(config);
  const serving = { listening: config, processState, places, times };
  const server = await openRequestServer(config, logger, stores, serving);
  const writerLink = stores.eventLog.linkWriter?.bind(stores.eventLog);
  const { port } = server;
  const threads = new RequestThreads(config, logger, { port, memory, times, writerLink, processState });
  return {
    ...server,
    started: threads.started,
    async stop() {
      await Promise.all([server.stop(), threads.stop()]);
    },
  };
}

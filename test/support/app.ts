import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { destination } from 'pino';
import { type Batches, openBatches } from '../../src/api/routes/batchRunner.ts';
import { apiRoutes, fhirRoutes, healthRoutes } from '../../src/api/routes/index.ts';
import { createApp } from '../../src/api/server/app.ts';
import { dashboardApp } from '../../src/dashboard/app.ts';
import { requestLimit } from '../../src/dashboard/http/visit.ts';
import { UnknownKeyTally } from '../../src/modules/audit/requestLog.ts';
import { KeyDirectory } from '../../src/modules/auth/keyDirectory.ts';
import { openSignInLimits } from '../../src/modules/auth/signIn.ts';
import { SecondFactor } from '../../src/modules/auth/twoFactor.ts';
import { UserDirectory } from '../../src/modules/auth/users.ts';
import { EventStream } from '../../src/modules/eventStream/eventStream.ts';
import { StoreWatch } from '../../src/modules/health.ts';
import { Reservations } from '../../src/modules/idempotency/reservations.ts';
import { MessageClaims } from '../../src/modules/integrations/messages/claims.ts';
import { MessageStore } from '../../src/modules/integrations/messages/store.ts';
import { SourceCache } from '../../src/modules/integrations/sources.ts';
import { Keyring } from '../../src/modules/keyring.ts';
import { openAnalyses } from '../../src/modules/readiness/jobs.ts';
import { openWriteWarnings } from '../../src/modules/readiness/warnings.ts';
import { RecordExistence, ReferenceWaits } from '../../src/modules/records/commands/references.ts';
import { PrincipalNames } from '../../src/modules/records/queries/principalNames.ts';
import { WebhookManager } from '../../src/modules/webhooks/manager.ts';
import { createEgressPolicy } from '../../src/modules/webhooks/settings.ts';
import { WebhookDirectory } from '../../src/modules/webhooks/webhook.ts';
import { createLogger } from '../../src/platform/logging.ts';
import { feedThread } from '../../src/server/eventStream.ts';
import { analyseInThread, openEvidence } from '../../src/server/integrity.ts';
import { loadSessionSecret, managedKeys } from '../../src/server/keys.ts';
import {
  openDocumentStore,
  openRateLimiters,
  openReadModels,
  openStateStore,
} from '../../src/server/openStorage.ts';
import type { DocumentStore } from '../../src/storage/documentStore.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import { systemClock } from '../../src/storage/rateLimiters.ts';
import type { ReadModels } from '../../src/storage/readModels.ts';
import type { StateStore } from '../../src/storage/stateStore.ts';

import { Client } from './client.ts';
import { outputFolder } from './output.ts';
import type { TestService } from './service.ts';

export interface Faults {
  eventLog?: Partial<EventLog>;
  readModels?: Partial<ReadModels>;
  stateStore?: Partial<StateStore>;
  documentStore?: Partial<DocumentStore>;
}

/** A port whose methods in `faults` stand in for its own. */
export function withFaults<Port extends object>(port: Port, faults: Partial<Port> = {}): Port {
  return new Proxy(port, {
    get(target, name) {
      const own = Reflect.get(target, name);
      return Reflect.get(faults, name) ?? (typeof own === 'function' ? own.bind(target) : own);
    },
  });
}

/**
 * A second HTTP interface and dashboard over a service's stores, whose ports have faults. Keys, users and webhooks are
 * looked up without faults; webhooks are changed with those of `append`. Sessions of the service go on in it.
 */
export async function startFaultyApp(
  service: TestService,
  faults: Faults,
): Promise<Client & { batches: Batches; stop(): Promise<void> }> {
  const realReadModels = await openReadModels(service.config.readModelUrl);
  const realStateStore = await openStateStore(service.config.stateUrl);
  const realDocumentStore = await openDocumentStore(service.config.documentsUrl);
  const directory = await KeyDirectory.open(service.eventLog);
  const eventLog = withFaults(service.eventLog, faults.eventLog);
  const readModels = withFaults(realReadModels, faults.readModels);
  const stateStore = withFaults(realStateStore, faults.stateStore);
  const documentStore = withFaults(realDocumentStore, faults.documentStore);
  const existence = new RecordExistence(eventLog, readModels);
  const log = destination({ dest: `${outputFolder}/logs/${process.pid}.log`, sync: true });
  const logger = createLogger('trace', log);
  const feed = new EventStream(feedThread(service.config.eventLogUrl), async () => ({
    key: randomBytes(32),
    epoch: 1,
  }));
  const { append = service.eventLog.append.bind(service.eventLog) } = faults.eventLog ?? {};
  const webhookDirectory = await WebhookDirectory.open(withFaults(service.eventLog, { append }));
  const users = await UserDirectory.open(service.eventLog);
  const names = new PrincipalNames({ api_key: directory, user: users });
  const knownKeys = new Keyring(eventLog, managedKeys(service.config));
  const secrets = () => knownKeys.all('webhookSecrets');
  const webhooks = new WebhookManager({
    eventLog,
    readModels,
    stateStore,
    directory: webhookDirectory,
    keys: directory,
    names,
    addresses: createEgressPolicy([]),
    secretsKeys: secrets,
  });
  const limiters = await openRateLimiters(service.config.stateUrl);
  const messages = new MessageStore({ stateStore, documentStore });
  const ports = {
    eventLog,
    readModels,
    stateStore,
    documentStore,
    existence,
    referenceWaits: new ReferenceWaits(existence),
    warnings: openWriteWarnings(eventLog),
    sources: new SourceCache(eventLog),
    messages,
    claims: new MessageClaims({ stateStore, clock: systemClock, messages, secrets }),
    reservations: new Reservations({ stateStore, clock: systemClock, secrets }),
    batches: openBatches(service.config, limiters, logger),
    directory,
    names,
    feed,
    webhooks,
    webhookDirectory,
    webhooksOf: (workspace: string) => webhookDirectory.idsOf(workspace),
    publicUrl: undefined,
  };
  const evidence = openEvidence(service.config, logger, { eventLog, stateStore, knownKeys });
  const analyses = openAnalyses({
    stateStore,
    run: analyseInThread(service.config),
    onFailure: (error) => logger.error({ error }),
  });
  const draining = new AbortController().signal;
  const around = { logger, draining, clientIp: () => '127.0.0.1' };
  const gate = { directory, limit: async () => undefined, unknownKeys: new UnknownKeyTally(eventLog) };
  const dashboard = dashboardApp({
    ...around,
    sessionSecret: await loadSessionSecret(service.config),
    trustProxy: service.config.trustProxy,
    ports: {
      ...ports,
      users,
      signInLimits: openSignInLimits(limiters),
      secondFactor: new SecondFactor({ eventLog, users, totpSecretsKey: async () => randomBytes(32) }),
      requireTotp: [],
      requestLimit: requestLimit(limiters, 0),
      identityProvider: undefined,
      openapiPublic: false,
      retentionYears: undefined,
      evidence,
      analyses,
    },
  });
  const storeWatch = new StoreWatch(ports, around.logger);
  const health = {
    eventLog,
    readModels,
    roles: service.config.roles,
    processState: async () => ({
      stores: await storeWatch.states(),
      failingRoles: new Set<never>(),
      findings: [],
    }),
  };
  const routes = [...apiRoutes(ports, false), ...fhirRoutes(ports), ...healthRoutes(health)];
  const app = createApp(routes, { ...around, gate, eventLog }, dashboard);
  const server = createServer(app);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = new Client(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, service.key);
  return Object.assign(client, {
    batches: ports.batches,
    async stop() {
      storeWatch.close();
      server.close();
      server.closeAllConnections();
      directory.close();
      webhookDirectory.close();
      users.close();
      await Promise.all([evidence.close(), analyses.close()]);
      await limiters.close();
      await feed.close();
      await Promise.all([realReadModels.close(), realStateStore.close(), realDocumentStore.close()]);
    },
  });
}

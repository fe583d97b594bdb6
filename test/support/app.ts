import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { destination } from 'pino';
import { analyseInThread } from '../../src/app/analyses/analyseInThread.ts';
import { openEvidence } from '../../src/app/evidence/openEvidence.ts';
import { feedThread } from '../../src/app/feedThread.ts';
import { lastingKeys, loadSessionSecret } from '../../src/app/keys/keyFiles.ts';
import {
  openDocumentStore,
  openRateLimiters,
  openReadModels,
  openStateStore,
} from '../../src/app/openBackend.ts';
import { UnknownKeyTally } from '../../src/audit/UnknownKeyTally.ts';
import { RecordExistence } from '../../src/commands/RecordExistence.ts';
import { ReferenceWaits } from '../../src/commands/ReferenceWaits.ts';
import { dashboardApp } from '../../src/dashboard/shell/dashboardApp.ts';
import { requestLimit } from '../../src/dashboard/shell/requestLimit.ts';
import { EventFeed } from '../../src/feed/EventFeed.ts';
import { StoreWatch } from '../../src/health/StoreWatch.ts';
import { type Batches, openBatches } from '../../src/http/endpoints/batch/Batches.ts';
import { apiRoutes, healthRoutes } from '../../src/http/endpoints/index.ts';
import { fhirRoutes } from '../../src/http/fhir/fhirRoutes.ts';
import { createApp } from '../../src/http/server/createApp.ts';
import { Reservations } from '../../src/idempotency/Reservations.ts';
import { RememberedSources } from '../../src/ingest/sources/RememberedSources.ts';
import { createLogger } from '../../src/logger.ts';
import { MessageClaims } from '../../src/messages/MessageClaims.ts';
import { MessageStore } from '../../src/messages/MessageStore.ts';
import { systemClock } from '../../src/ports/clock.ts';
import type { DocumentStore } from '../../src/ports/documentStore.ts';
import type { EventLog } from '../../src/ports/eventLog.ts';
import type { ReadModels } from '../../src/ports/readModels.ts';
import type { StateStore } from '../../src/ports/stateStore.ts';
import { KeyDirectory } from '../../src/principals/keys/KeyDirectory.ts';
import { SecondFactor } from '../../src/principals/users/SecondFactor.ts';
import { openSignInLimits } from '../../src/principals/users/signInLimits.ts';
import { UserDirectory } from '../../src/principals/users/UserDirectory.ts';
import { openAnalyses } from '../../src/readiness/analyses.ts';
import { RememberedRuleSettings } from '../../src/readiness/RememberedRuleSettings.ts';
import { PrincipalNames } from '../../src/reads/history/PrincipalNames.ts';
import { KnownKeys } from '../../src/sameLog/KnownKeys.ts';
import { createAddressRules } from '../../src/webhooks/settings/addressRules.ts';
import { WebhookDirectory } from '../../src/webhooks/settings/WebhookDirectory.ts';
import { WebhookManager } from '../../src/webhooks/settings/WebhookManager.ts';
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
  const feed = new EventFeed(feedThread(service.config.eventLogUrl), async () => ({
    key: randomBytes(32),
    epoch: 1,
  }));
  const { append = service.eventLog.append.bind(service.eventLog) } = faults.eventLog ?? {};
  const webhookDirectory = await WebhookDirectory.open(withFaults(service.eventLog, { append }));
  const users = await UserDirectory.open(service.eventLog);
  const names = new PrincipalNames({ api_key: directory, user: users });
  const knownKeys = new KnownKeys(eventLog, lastingKeys(service.config));
  const secrets = () => knownKeys.all('webhookSecrets');
  const webhooks = new WebhookManager({
    eventLog,
    readModels,
    stateStore,
    directory: webhookDirectory,
    keys: directory,
    names,
    addresses: createAddressRules([]),
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
    ruleSettings: new RememberedRuleSettings(eventLog),
    sources: new RememberedSources(eventLog),
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

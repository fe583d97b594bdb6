import type { Logger } from 'pino';
import { openBatches } from '../api/routes/Batches.ts';
import { requestLimit } from '../dashboard/http/requestLimit.ts';
import type { DashboardPorts } from '../dashboard/routes.ts';
import { AccessTally } from '../modules/audit/AccessTally.ts';
import { IdentityProvider } from '../modules/auth/IdentityProvider.ts';
import type { KeyDirectory } from '../modules/auth/KeyDirectory.ts';
import { SecondFactor } from '../modules/auth/SecondFactor.ts';
import { openSignInLimits } from '../modules/auth/signInLimits.ts';
import { UserDirectory } from '../modules/auth/UserDirectory.ts';
import { EventFeed } from '../modules/eventStream/EventFeed.ts';
import { Reservations } from '../modules/idempotency/Reservations.ts';
import type { KnownKeys } from '../modules/KnownKeys.ts';
import { openAnalyses } from '../modules/readiness/analyses.ts';
import { PrincipalNames } from '../modules/records/queries/PrincipalNames.ts';
import { createAddressRules } from '../modules/webhooks/addressRules.ts';
import type { WebhookDirectory } from '../modules/webhooks/WebhookDirectory.ts';
import { WebhookManager } from '../modules/webhooks/WebhookManager.ts';
import type { Config } from '../platform/config.ts';
import { describeError } from '../platform/errors.ts';
import type { Clock } from '../storage/clock.ts';
import type { DocumentStore } from '../storage/documentStore.ts';
import type { EventLog } from '../storage/eventLog.ts';
import type { RateLimiters } from '../storage/rateLimiters.ts';
import type { ReadModels } from '../storage/readModels.ts';
import type { StateStore } from '../storage/stateStore.ts';
import { analyseInThread } from './analyseInThread.ts';
import { feedThread } from './feedThread.ts';
import type { LastingKeyName } from './keyFiles.ts';
import { openEvidence } from './openEvidence.ts';
import { openIngestPorts } from './openIngestPorts.ts';
import type { TaskPlaces } from './SharedMemory.ts';

const PRUNE_EVERY_MS = 600_000;

export interface OpenStores {
  eventLog: EventLog;
  readModels: ReadModels;
  stateStore: StateStore;
  documentStore: DocumentStore;
  limiters: RateLimiters;
  directory: KeyDirectory;
  webhookDirectory: WebhookDirectory;
  knownKeys: KnownKeys<LastingKeyName>;
  clock: Clock;
}

/**
 * Opens what the API and the dashboard work with, over open stores; `close` ends what was opened here, and `settle` does what is
 * left once the last request was answered.
 */
export async function openApiPorts(
  config: Config,
  logger: Logger,
  { webhookDirectory, limiters, knownKeys, clock, ...stores }: OpenStores,
  places?: TaskPlaces,
): Promise<{ ports: DashboardPorts; settle(): Promise<void>; close(): Promise<void> }> {
  const { eventLog, readModels, stateStore, directory } = stores;
  const users = await UserDirectory.open(eventLog);
  const feed = new EventFeed(feedThread(config.eventLogUrl), () => knownKeys.loadEpoch('deidentification'));
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
    requestLimit: requestLimit(limiters, config.dashboardRateLimitPerMinute),
    identityProvider: config.openIdConnect && new IdentityProvider(config.openIdConnect),
    publicUrl: config.publicUrl,
    openapiPublic: config.openapiPublic,
    retentionYears: config.retentionYears,
    feed,
    tally: new AccessTally(eventLog),
    reservations: new Reservations({
      stateStore,
      clock,
      secrets: secretsKeys,
    }),
    batches: openBatches(config, limiters, logger),
    webhooks: new WebhookManager({
      eventLog,
      readModels,
      stateStore,
      directory: webhookDirectory,
      keys: directory,
      names,
      addresses: createAddressRules(config.webhookAllowNetworks),
      secretsKeys,
    }),
  };
  // What cannot be removed now is removed next time.
  const pruning = setInterval(() => ports.reservations.prune().catch(() => undefined), PRUNE_EVERY_MS);
  const close = async () => {
    clearInterval(pruning);
    ingest.close();
    users.close();
    await Promise.all([evidence.close(), analyses.close()]);
    await feed.close();
  };
  const settle = async () => {
    await ports.batches.close();
    await ports.tally
      .flush()
      .catch((error) =>
        logger.warn({ error: describeError(error) }, 'counts could not be recorded in the audit trail'),
      );
  };
  return { ports, settle, close };
}

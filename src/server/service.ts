import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { ConnectionTimes } from '../api/mllp/connection.ts';
import type { HttpTimes } from '../api/server/httpServer.ts';
import { type CreatedKey, createFirstKey } from '../modules/auth/keyManager.ts';
import { issueFirstSetupLink } from '../modules/auth/userManager.ts';
import type { Keyring } from '../modules/keyring.ts';
import { requireStoresOfLog } from '../modules/projections/storeIdentity.ts';
import type { RetrySchedule } from '../modules/webhooks/attempts.ts';
import { type Config, loadConfig } from '../platform/config.ts';
import { createLogger } from '../platform/logging.ts';
import { misspeltSettings } from '../platform/settingsSpelling.ts';
import { SharedFlag } from '../platform/threads/semaphore.ts';
import { gatherMeasurements } from '../platform/threads/workers.ts';
import { version } from '../platform/version.ts';
import { type Clock, systemClock } from '../storage/rateLimiters.ts';
import { makeFilesPrivate, restrictFileModes } from './files.ts';
import { watchHealth } from './health.ts';
import { checkKeys, isSigningKeyWithheld, type ManagedKeyName, openSigningKey } from './keys.ts';
import { LogOutput } from './logOutput.ts';
import { exportsMetrics, startMetrics } from './metrics.ts';
import { type MllpRole, startMllp } from './mllp.ts';
import { startNotifications } from './notifications.ts';
import { isMissing } from './openStorage.ts';
import { startProjector } from './projector.ts';
import { RepeatedLines } from './repeatedLines.ts';
import { openStores, serveRequests } from './requestServer.ts';
import { sharedMemory } from './sharedMemory.ts';
import { startFailure } from './startFailure.ts';
import { requireFilled, requireNotMoved } from './stores.ts';
import { type HeadPauses, type HeadStores, type HeadsRole, startHeads } from './treeHeads.ts';
import { startWarehouses } from './warehouse.ts';
import { startWebhooks } from './webhooks.ts';

/** A running service. */
export interface Service {
  /** Where it listens: `http://127.0.0.1:3000`. */
  url: string;
  /** Where it receives messages over MLLP, in the order of the settings; empty without that role. */
  mllpPorts: readonly number[];
  /** The key created on the very first start. */
  firstKey: CreatedKey | undefined;
  /** Where the first user is created, once: while there are none, and in production only on the first start. */
  setupUrl: string | undefined;
  /** Where its metrics are served, if they are. */
  metricsUrl: string | undefined;
  /** Answers what was accepted, then closes everything. */
  stop(): Promise<void>;
}

/** How long a start waits for an event log on a server that is unreachable. */
const START_PATIENCE_MS = 60_000;

export interface ServiceOptions {
  /** Aborts a start that is under way. */
  stopping?: AbortSignal;
  /** Set only by tests, to avoid waiting. */
  webhookSchedule?: RetrySchedule;
  headPauses?: HeadPauses;
  httpTimes?: HttpTimes;
  mllpTimes?: ConnectionTimes;
  /** The clock by which idempotency keys expire, if one thread answers requests. */
  clock?: Clock;
}

/**
 * Starts everything that is configured; rejects, with nothing left running, when that fails, or with the reason of `stopping`.
 */
export async function startService(
  config: Config,
  logger: Logger,
  { stopping, webhookSchedule, headPauses, httpTimes, mllpTimes, clock = systemClock }: ServiceOptions = {},
): Promise<Service> {
  const step = <Result>(work: Promise<Result>) => unlessStopped(work, stopping);
  const stops: (() => unknown)[] = [];
  const stop = async () => {
    for (const stopOne of stops.splice(0).reverse()) await stopOne();
  };
  const isApi = config.roles.includes('api');
  try {
    requireFilled(config.dataDir);
    requireNotMoved(config.dataDir);
    if (exportsMetrics(config)) gatherMeasurements();
    restrictFileModes(config, logger);
    await step(checkKeys(config, logger));
    const awaited = new SharedFlag();
    const isShared = isApi && config.requestThreads > 1;
    const memory = isShared ? sharedMemory(config.requestThreads, awaited) : undefined;
    const waiting = (problem: string) => logger.warn({ problem }, 'startup is waiting for the event log');
    const isStateMissing = isMissing(config.stateUrl);
    const stores = await openStores(config, {
      step,
      stops,
      eventLog: { patience: { ms: START_PATIENCE_MS, waiting } },
      awaited,
      counts: memory?.counts,
      clock,
      async check(opened) {
        await requireStoresOfLog(opened, config, logger);
        if (isStateMissing && (await opened.eventLog.head()) > 0) logger.warn(STATE_CREATED);
        await opened.knownKeys.require(await neededKeys(config), config.allowOtherKeys);
      },
    });
    const { directory, webhookDirectory } = stores;
    const projector = config.roles.includes('projector')
      ? startProjector(config, logger, awaited)
      : undefined;
    stops.push(() => projector?.stop());
    const heads = await step(openHeads(config, logger, stores, headPauses));
    stops.push(() => heads?.stop());
    const webhooks = config.roles.includes('webhooks')
      ? startWebhooks(config, logger, webhookDirectory, webhookSchedule)
      : undefined;
    stops.push(() => webhooks?.stop());
    const notifications = config.roles.includes('webhooks')
      ? await step(startNotifications(config, logger, stores))
      : undefined;
    stops.push(() => notifications?.stop());
    const stopWarehouses = config.roles.includes('warehouse') ? startWarehouses(config, logger) : undefined;
    stops.push(() => stopWarehouses?.());
    const health = watchHealth(stores, logger, {
      failing: () => [
        ...(projector?.failing() ? (['projector'] as const) : []),
        ...(webhooks?.failing() ? (['webhooks'] as const) : []),
      ],
      findings: () => heads?.findings() ?? [],
    });
    stops.push(() => health.close());
    const { processState } = health;
    const metrics = await step(startMetrics(config, logger, stores, { ...config, processState }));
    stops.push(() => metrics?.stop());
    const serving = { processState, memory, times: httpTimes };
    const { url, users, started, ...server } = await step(serveRequests(config, logger, stores, serving));
    let mllp: MllpRole | undefined;
    stops.push(() => Promise.all([server.stop(), mllp?.stop()]));
    await step(started);
    if (config.roles.includes('mllp')) mllp = await step(startMllp(config, logger, stores, mllpTimes));
    // Last, so that a failed start never creates a key or link that nobody gets to see.
    const firstKey = config.production || !isApi ? undefined : await createFirstKey(directory);
    const token = users && (await issueFirstSetupLink(users, { again: !config.production }));
    const setupUrl = token && `${config.publicUrl ?? url}/dashboard/setup?token=${token}`;
    const mllpPorts = mllp?.ports ?? [];
    return { url, mllpPorts, firstKey, setupUrl, metricsUrl: metrics?.url, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

const STATE_CREATED =
  'there was no state store for this event log; an empty one was created. If there was one, stop the service and put it back: requests with an Idempotency-Key may otherwise be written twice';

/** Opens the role that sends heads, if the process has it. */
async function openHeads(
  { headsTo, ...config }: Config,
  logger: Logger,
  stores: Omit<HeadStores, 'signingKey'> & { knownKeys: Keyring<ManagedKeyName> },
  pauses: HeadPauses | undefined,
): Promise<HeadsRole | undefined> {
  if (headsTo === undefined || !config.roles.includes('heads')) return undefined;
  const signingKey = () => openSigningKey(stores.eventLog, stores.knownKeys);
  return startHeads({ ...config, headsTo }, logger, { ...stores, signingKey }, pauses);
}

/**
 * Returns the keys that work with the contents of the log. The signing key can wait until something is to be signed, but one that
 * was lost, and may be replaced, is replaced here: where it is not withheld, and no other process can be the one that has it.
 */
async function neededKeys(config: Config): Promise<ManagedKeyName[]> {
  const { roles, allowOtherKeys, eventLogUrl, headsTo, warehouses } = config;
  const mayReplace = eventLogUrl.startsWith('sqlite:') || (roles.includes('heads') && headsTo !== undefined);
  const isSigningNeeded = allowOtherKeys && mayReplace && !(await isSigningKeyWithheld(config));
  const needed: ManagedKeyName[] = isSigningNeeded ? ['signing'] : [];
  if (roles.includes('api')) return [...needed, 'deidentification', 'webhookSecrets', 'totpSecrets'];
  if (roles.includes('webhooks')) return [...needed, 'deidentification', 'webhookSecrets'];
  if (roles.includes('mllp')) return [...needed, 'webhookSecrets'];
  return warehouses.some(({ view }) => view !== 'full') ? [...needed, 'deidentification'] : needed;
}

/** Returns the result of `work`; rejects with the signal's reason as soon as it aborts, whatever the outcome of the work. */
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

/**
 * Returns what a start prints: the address, after a first start the key and a line to try it with, and while there is no
 * dashboard user the link that creates one.
 */
export function startupText({ url, firstKey, setupUrl }: Service): string {
  const lines = ['', `Chartledger listens on ${url}`];
  if (firstKey) {
    lines.push(
      '',
      `This is its first start: it made the workspace '${firstKey.workspace}' with one API key, shown only now:`,
      '',
      `  ${firstKey.key}`,
      '',
      'Try it:',
      '',
      `  curl ${url}/integration/payers -H 'x-api-key: ${firstKey.key}' -H 'content-type: application/json' -d '{"id": "payer-1", "name": "Aetna"}'`,
    );
  }
  if (setupUrl) {
    lines.push(
      '',
      'The dashboard has no user yet. This link makes its first administrator, once, within 24 hours:',
      '',
      `  ${setupUrl}`,
    );
  }
  return `${lines.join('\n')}\n\n`;
}

/** How long background work has to end once requests have, before it is cut off, as a crash would do. */
const BACKGROUND_SECONDS = 5;

/** Resolves with whether `work` ends in time; rejects with its error if it fails in time. */
async function endsWithin(work: Promise<void>, ms: number): Promise<boolean> {
  const ended = new AbortController();
  const isLate = sleep(ms, true, { signal: ended.signal }).catch(() => true);
  try {
    return await Promise.race([work.then(() => true), isLate.then(() => false)]);
  } finally {
    ended.abort();
  }
}

const SETUP =
  'the dashboard has no user yet: this link makes its first administrator, once, within 24 hours; it is not shown again';
const STDOUT = 1;

/** Returns where a store is, without users, passwords and options. */
function storePlace(url: string): string {
  return url.replace(/^([^:]+:\/\/).*@/, '$1').replace(/\?.*$/, '');
}

/** Returns what the first line of the log says of a process. */
function startFields({
  roles,
  eventLogUrl,
  readModelUrl,
  stateUrl,
  documentsUrl,
  buildId,
  production,
}: Config) {
  return {
    version,
    ...(buildId !== undefined && { build: buildId }),
    node: process.versions.node,
    pid: process.pid,
    production,
    roles,
    event_log: storePlace(eventLogUrl),
    read_models: storePlace(readModelUrl),
    state_store: storePlace(stateUrl),
    document_store: storePlace(documentsUrl),
  };
}

/**
 * Runs the service until `stopping`; resolves with the exit code. Standard output has the log and nothing else. What is for a person
 * goes to standard error: the reason for a failed start, in one line, and outside production what `startupText` says.
 */
export async function serve(env: Record<string, string | undefined>, stopping: AbortSignal): Promise<number> {
  // Accessing them makes a pipe non-blocking. A blocking write would hold up a thread, and the end of the process.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  makeFilesPrivate();
  const output = new LogOutput(STDOUT);
  const lines = new RepeatedLines(output);
  try {
    const config = loadConfig(env);
    const logger = createLogger(config.logLevel, lines);
    const startedAt = performance.now();
    logger.info(startFields(config), 'starting');
    for (const { name, meant } of misspeltSettings(env)) {
      logger.warn({ name, meant }, `${name} is not a setting; did you mean ${meant}?`);
    }
    const service = await startService(config, logger, { stopping });
    const { url, mllpPorts, metricsUrl, setupUrl } = service;
    const ms = Math.round(performance.now() - startedAt);
    logger.info({ url, ...(mllpPorts.length > 0 && { mllpPorts }), metricsUrl, ms }, 'ready');
    if (!config.production) process.stderr.write(startupText(service));
    else if (setupUrl) logger.info({ setupUrl }, SETUP);
    if (!stopping.aborted) await once(stopping, 'abort');
    logger.info('stopping');
    const isStopped = await endsWithin(service.stop(), (config.drainSeconds + BACKGROUND_SECONDS) * 1_000);
    if (isStopped) logger.info('stopped');
    else logger.warn('stopped before all background work had ended; it goes on at the next start');
    return 0;
  } catch (error) {
    if (stopping.aborted) return 0;
    process.stderr.write(`Chartledger did not start. ${startFailure(error, env.LOG_LEVEL)}\n`);
    return 1;
  } finally {
    lines.close();
    await output.close();
  }
}

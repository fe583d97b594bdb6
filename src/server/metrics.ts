import type { Logger } from 'pino';
import { readinessDetails } from '../api/routes/service.ts';
import { consumerLags, storedConsumers } from '../modules/eventStream/consumers.ts';
import { type ProcessHealth, type Readiness, readiness } from '../modules/health.ts';
import { add, shownCounts, type Tally, talliesModel, tallyId } from '../modules/readiness/counts.ts';
import { readModelLag } from '../modules/records/queries/records.ts';
import { isDeliveryAllowed } from '../modules/webhooks/settings.ts';
import { deliveryStatus } from '../modules/webhooks/status.ts';
import type { Config } from '../platform/config.ts';
import { measurements, observed, type SeriesReport } from '../platform/metrics/metrics.ts';
import { systemClock } from '../storage/rateLimiters.ts';
import type { ExportedMetrics } from './metricsExporter.ts';
import type { OpenStores } from './requestServer.ts';
import { upkeepObservers } from './upkeep.ts';

/** Returns what processes with these roles report about the service as a whole. */
function serviceObservers(config: Config, stores: OpenStores): (() => Promise<SeriesReport[]>)[] {
  const { roles } = config;
  return [
    ...upkeepObservers(config, stores),
    ...(roles.includes('projector') ? [() => observeReadModels(stores), () => observeReadiness(stores)] : []),
    ...(roles.includes('webhooks') ? [() => observeWebhooks(stores), () => observeConsumers(stores)] : []),
  ];
}

async function observeReadModels({ eventLog, readModels }: OpenStores): Promise<SeriesReport[]> {
  const lags = await readModelLag(eventLog, readModels, systemClock.now());
  return lags.flatMap(({ model, seconds, parked }) => {
    // As named on the command line, without the version.
    const attributes = { 'chartledger.read_model': model.replace(/_v\d+$/, '') };
    return [
      ...(seconds === undefined ? [] : [observed('chartledger.read_model.lag', attributes, seconds)]),
      observed('chartledger.read_model.parked', attributes, parked),
    ];
  });
}

/** Sandboxes are not counted: nobody works on them. */
async function observeReadiness({ readModels, directory }: OpenStores): Promise<SeriesReport[]> {
  const workspaces = [...directory.known.workspaces.values()].filter(({ sandbox }) => !sandbox);
  const rows = await readModels.load(
    talliesModel,
    workspaces.map(({ id }) => tallyId(id)),
  );
  const sum: Tally = { states: {}, rules: {} };
  for (const { body } of rows) add(sum, body);
  const { states, rules } = shownCounts(sum, {});
  return [
    ...Object.entries(states).map(([state, count]) =>
      observed('chartledger.readiness.encounters', { 'chartledger.state': state }, count),
    ),
    ...Object.entries(rules).map(([rule, count]) =>
      observed('chartledger.readiness.findings', { 'chartledger.rule': rule }, count),
    ),
  ];
}

async function observeWebhooks({
  eventLog,
  stateStore,
  webhookDirectory,
  directory,
}: OpenStores): Promise<SeriesReport[]> {
  const used = webhookDirectory.all().filter((webhook) => isDeliveryAllowed(webhook, directory.known));
  const statuses = await deliveryStatus(eventLog, stateStore, used);
  const sum = (of: (status: (typeof statuses)[number]) => number) =>
    statuses.reduce((total, status) => total + of(status), 0);
  const ages = statuses.flatMap(({ oldestPendingAt }) =>
    oldestPendingAt === undefined ? [] : [(systemClock.now() - Date.parse(oldestPendingAt)) / 1_000],
  );
  return [
    observed(
      'chartledger.webhook.backlog',
      {},
      sum(({ pending }) => pending),
    ),
    observed('chartledger.webhook.backlog.age', {}, Math.max(0, ...ages)),
    observed(
      'chartledger.webhook.failed',
      {},
      sum(({ failed }) => failed),
    ),
  ];
}

async function observeConsumers({ eventLog, stateStore, directory }: OpenStores): Promise<SeriesReport[]> {
  const { workspaces } = directory.known;
  const consumers = await storedConsumers(stateStore);
  const active = consumers.filter(({ workspace }) => workspaces.get(workspace)?.state === 'active');
  const lags = await consumerLags(eventLog, active);
  const now = systemClock.now();
  const longest = (times: number[]) => Math.max(0, ...times.map((time) => (now - time) / 1_000));
  return [
    observed('chartledger.consumer.backlog.age', {}, longest(lags.flatMap(({ oldestAt }) => oldestAt ?? []))),
    observed('chartledger.consumer.silence', {}, longest(lags.map(({ consumer }) => consumer.lastContact))),
  ];
}

/** Returns the system's and `/readyz`'s view of this process. */
function observeProcess({ stores, roles, findings }: Readiness): SeriesReport[] {
  const cpu = process.cpuUsage();
  return [
    ...Object.entries(stores).map(([store, state]) =>
      observed('chartledger.store.available', { 'chartledger.store': store }, Number(state === 'ok')),
    ),
    ...Object.entries(roles).map(([role, state]) =>
      observed('chartledger.role.ready', { 'chartledger.role': role }, Number(state === 'ready')),
    ),
    ...findings.map(({ code }) => observed('chartledger.warnings', { 'chartledger.code': code }, 1)),
    observed('process.cpu.time', { 'cpu.mode': 'user' }, cpu.user / 1e6),
    observed('process.cpu.time', { 'cpu.mode': 'system' }, cpu.system / 1e6),
    observed('process.memory.usage', {}, process.memoryUsage.rss()),
    observed('process.start_time', {}, performance.timeOrigin / 1_000),
    observed('process.uptime', {}, process.uptime()),
  ];
}

/** Whether the settings request metrics. */
export function exportsMetrics({ metricsPort, otlpMetricsUrl }: Config): boolean {
  return metricsPort !== undefined || otlpMetricsUrl !== undefined;
}

/**
 * Exports the metrics of the process and, depending on its roles, of the service, if the settings request it. The SDK is loaded
 * only then.
 */
export async function startMetrics(
  config: Config,
  logger: Logger,
  stores: OpenStores,
  health: ProcessHealth,
): Promise<ExportedMetrics | undefined> {
  if (!exportsMetrics(config)) return undefined;
  const observers = serviceObservers(config, stores);
  const collect = async () => {
    const observed = await Promise.all([
      readiness(health).then(observeProcess),
      // Values of unavailable stores are left out.
      ...observers.map((observe) => observe().catch(() => [])),
    ]);
    return [...measurements.all(), ...observed.flat()];
  };
  const { exportMetrics } = await import('./metricsExporter.ts');
  const details = () => readinessDetails({ ...stores, ...health });
  return exportMetrics(config, logger, { collect, readiness: details });
}

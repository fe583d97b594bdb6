import { shownCounts } from '../modules/readiness/shownCounts.ts';
import { add, type Tally, talliesModel, tallyId } from '../modules/readiness/tally.ts';
import { readModelLag } from '../modules/records/queries/readModelLag.ts';
import { deliveryStatus } from '../modules/webhooks/deliveryStatus.ts';
import { maySend } from '../modules/webhooks/maySend.ts';
import type { Config } from '../platform/config.ts';
import { observed, type SeriesReport } from '../platform/metrics/Series.ts';
import { systemClock } from '../storage/clock.ts';
import type { OpenStores } from './openApiPorts.ts';

/** Returns what processes with these roles report about the service as a whole. */
export function serviceObservers({ roles }: Config, stores: OpenStores): (() => Promise<SeriesReport[]>)[] {
  return [
    ...(roles.includes('projector') ? [() => observeReadModels(stores), () => observeReadiness(stores)] : []),
    ...(roles.includes('webhooks') ? [() => observeWebhooks(stores)] : []),
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
  const used = webhookDirectory.all().filter((webhook) => maySend(webhook, directory.known));
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

import { loadPositions } from '../../modules/webhooks/deliveryTable.ts';
import { resumeDelivery } from '../../modules/webhooks/resumeDelivery.ts';
import { WebhookDirectory } from '../../modules/webhooks/WebhookDirectory.ts';
import type { Config } from '../../platform/config.ts';
import { isMissing, openReadModels, openStateStore } from '../../server/openBackend.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { count } from '../lib/output.ts';
import { type CheckResult, ok, warn } from './checkResult.ts';
import { using } from './checkStores.ts';

/** Checks whether the state store's notes on the progress of webhooks belong to this log, and are not ahead of it. */
export async function checkWebhooks(
  eventLog: EventLog,
  { stateUrl, readModelUrl }: Config,
): Promise<CheckResult[]> {
  if (isMissing(stateUrl) || isMissing(readModelUrl)) return [];
  const lost = await using(WebhookDirectory.open(eventLog), (directory) =>
    using(openReadModels(readModelUrl), (readModels) =>
      using(openStateStore(stateUrl), async (stateStore) => {
        const webhooks = directory.all().filter(({ state }) => state !== 'deleted');
        const ids = webhooks.map(({ id }) => id);
        const positions = await loadPositions(stateStore, ids);
        const found = new Set<string>();
        const ports = { eventLog, readModels, onStateLost: (id: string) => found.add(id) };
        for (const webhook of webhooks) await resumeDelivery(ports, webhook, positions.get(webhook.id));
        return found.size;
      }),
    ),
  );
  if (lost === 0) return [ok('webhooks', 'the progress of each matches the log')];
  const message =
    `The progress of ${count(lost)} of the webhooks does not match the log: the log or the state store was restored to an earlier state. ` +
    'They continue from the last position noted in the log, and repeat messages; none is skipped.';
  return [warn('webhooks', 'state_lost', message)];
}

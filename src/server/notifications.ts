import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { UserDirectory } from '../modules/auth/users.ts';
import { MessageStore } from '../modules/integrations/messages/store.ts';
import { Notifier } from '../modules/notifications/notifier.ts';
import { WebhookSender } from '../modules/webhooks/sender.ts';
import { createEgressPolicy } from '../modules/webhooks/settings.ts';
import type { Config } from '../platform/config.ts';
import { describeError } from '../platform/errors.ts';
import { leaseOwner, runAsLeader } from '../storage/leases.ts';
import { openLeases } from './openStorage.ts';
import type { OpenStores } from './requestServer.ts';
import { backupAge, headsAge } from './upkeep.ts';

/** The lease of the one instance that notifies users. */
const LEASE = 'notifications';
const EVERY_MS = 60_000;
/** Heads are late when three of them should have been sent, as for `ChartledgerHeadsOld` (ops/alerts.yaml). */
const HEADS_LATE = 3;

/** What notifies users, in the process that holds the lease. */
interface Notifications {
  stop(): Promise<void>;
}

/** What is opened to notify users. */
type NotifiedStores = Pick<
  OpenStores,
  'eventLog' | 'readModels' | 'stateStore' | 'documentStore' | 'directory' | 'webhookDirectory' | 'knownKeys'
>;

/** Opens what notifies users, over open stores. Rejects with `unavailable`. */
export async function openNotifier(
  config: Config,
  logger: Logger,
  stores: NotifiedStores,
): Promise<{ check(now: number, signal: AbortSignal): Promise<number>; close(): Promise<void> }> {
  const { eventLog, stateStore, documentStore, directory, webhookDirectory, knownKeys } = stores;
  const users = await UserDirectory.open(eventLog);
  const sender = new WebhookSender({ addresses: createEgressPolicy(config.webhookAllowNetworks) });
  const onFailure = (code: string) => logger.warn({ code }, 'a notification could not be mailed');
  // Loaded only where mail is sent: nodemailer takes a tenth of the time in which the service loads.
  const mailer =
    config.mail && (await import('../modules/notifications/mail.ts')).openMailer(config.mail, onFailure);
  const notifier = new Notifier({
    ...stores,
    messages: new MessageStore({ stateStore, documentStore }),
    webhooks: {
      async all(workspace) {
        await webhookDirectory.refresh();
        return webhookDirectory.all().filter((one) => one.workspace === workspace && one.state !== 'deleted');
      },
    },
    keysOf: (workspace) => directory.keysOf(workspace),
    headsAge: async () => (config.headsTo === undefined ? undefined : headsAge(stateStore)),
    headsLateAfter: HEADS_LATE * config.headsEveryMinutes * 60,
    backupAge: () => backupAge(config, { stateStore, directory }),
    findUser: (id) => users.find(id),
    isActive: (workspace) => directory.known.workspaces.get(workspace)?.state === 'active',
    mailer,
    sender,
    secretsKeys: () => knownKeys.all('webhookSecrets'),
    publicUrl: config.publicUrl,
  });
  return {
    async check(now, signal) {
      await Promise.all([users.refresh(), directory.refresh()]);
      return notifier.check(now, signal);
    },
    async close() {
      users.close();
      mailer?.close();
      await sender.close();
    },
  };
}

/** Begins to notify users of what they chose, while this instance holds the lease, until `stop`. Rejects with `unavailable`. */
export async function startNotifications(
  config: Config,
  logger: Logger,
  stores: NotifiedStores,
  everyMs = EVERY_MS,
): Promise<Notifications> {
  const notifier = await openNotifier(config, logger, stores);
  const leases = await openLeases(config.stateUrl);
  const stopping = new AbortController();
  const working = runAsLeader(leases, LEASE, leaseOwner(config), stopping.signal, async (leading) => {
    while (!leading.aborted) {
      await notifier
        .check(Date.now(), leading)
        .catch((error) => logger.warn({ error: describeError(error) }, 'notifications could not be sent'));
      await sleep(everyMs, undefined, { signal: leading }).catch(() => undefined);
    }
  });
  return {
    async stop() {
      stopping.abort();
      await working;
      await Promise.all([notifier.close(), leases.close()]);
    },
  };
}

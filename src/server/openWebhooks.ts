import { randomUUID } from 'node:crypto';
import { KeyDirectory } from '../modules/auth/keyDirectory.ts';
import { ChangedFields } from '../modules/eventStream/changedFields.ts';
import { DeidentificationHistory } from '../modules/eventStream/deidentificationSettings.ts';
import { lazyDeidentifier } from '../modules/eventStream/reader.ts';
import { Keyring } from '../modules/keyring.ts';
import { type RetrySchedule, retrySchedule } from '../modules/webhooks/attempts.ts';
import { Dispatcher, type WebhooksMessage } from '../modules/webhooks/dispatcher.ts';
import { disableWebhook } from '../modules/webhooks/manager.ts';
import { recordSent } from '../modules/webhooks/messages.ts';
import { WebhookSender } from '../modules/webhooks/sender.ts';
import { ErasedEvents } from '../modules/webhooks/sessionState.ts';
import { createEgressPolicy, isDeliveryAllowed } from '../modules/webhooks/settings.ts';
import { appendNote } from '../modules/webhooks/store.ts';
import { WebhookDirectory } from '../modules/webhooks/webhook.ts';
import type { Config } from '../platform/config.ts';
import { describeError } from '../platform/errors.ts';
import { type Clock, systemClock } from '../storage/rateLimiters.ts';
import { managedKeys } from './keys.ts';
import { openEventLog, openLeases, openReadModels, openStateStore } from './openStorage.ts';

const NOTE_EVERY_MS = 60_000;

/** Set by tests to avoid waiting. */
export interface WebhooksTiming {
  schedule?: RetrySchedule;
  clock?: Clock;
  /** The shortest interval at which the progress of a delivery is recorded in the log. */
  noteEveryMs?: number;
}

/**
 * Opens an instance that delivers webhooks, one of several that share the work. The returned function delivers until its signal,
 * and waits for stores that are unavailable. Rejects when the event log is unavailable.
 */
export async function openWebhooks(
  config: Config,
  report: (message: WebhooksMessage) => void,
  { schedule = retrySchedule, clock = systemClock, noteEveryMs = NOTE_EVERY_MS }: WebhooksTiming = {},
): Promise<(signal: AbortSignal) => Promise<void>> {
  const eventLog = await openEventLog(config.eventLogUrl);
  const stateStore = await openStateStore(config.stateUrl);
  const readModels = await openReadModels(config.readModelUrl);
  const leases = await openLeases(config.stateUrl);
  const keys = new Keyring(eventLog, managedKeys(config));
  const directory = await WebhookDirectory.open(eventLog);
  const keyDirectory = await KeyDirectory.open(eventLog);
  const sender = new WebhookSender({ addresses: createEgressPolicy(config.webhookAllowNetworks), clock });
  const erased = new ErasedEvents(eventLog);
  await erased.refresh();
  const history = new DeidentificationHistory(eventLog);
  let pseudonyms: { epoch: number; deidentifier: ReturnType<typeof lazyDeidentifier> } | undefined;
  const dispatcher = new Dispatcher(
    {
      eventLog,
      stateStore,
      readModels,
      leases,
      directory,
      sender,
      clock,
      schedule,
      publicUrl: config.publicUrl,
      changedFields: new ChangedFields(eventLog),
      erased,
      secretsKeys: (isNow) => keys.all('webhookSecrets', isNow),
      narrowing: async (view, { metadata, position }) => {
        const key = await keys.loadEpoch('deidentification');
        if (pseudonyms?.epoch !== key.epoch)
          pseudonyms = { epoch: key.epoch, deidentifier: lazyDeidentifier(key) };
        const settingsAt = await history.of(metadata.workspace, position);
        return { deidentify: pseudonyms.deidentifier(view), settings: settingsAt(position) };
      },
      findSending(id) {
        const webhook = directory.find(id);
        return webhook && isDeliveryAllowed(webhook, keyDirectory.known) ? webhook : undefined;
      },
      onChange(listener) {
        const ends = [directory.onChange(listener), keyDirectory.onChange(listener)];
        return () => {
          for (const end of ends) end();
        };
      },
      recordSent: (webhook, sent, terms) => recordSent(eventLog, webhook, sent, terms),
      note: (webhook, note) => appendNote(eventLog, webhook, note),
      noteEveryMs,
      disable: (webhook, reason) => disableWebhook(directory, webhook, reason),
      onDelay: (webhookId, error) => report({ kind: 'delayed', webhookId, error: describeError(error) }),
      onStateLost: (webhookId) => report({ kind: 'state_lost', webhookId }),
      onUnreadable: (webhookId, { id, position }) =>
        report({ kind: 'unreadable', webhookId, eventId: id, position }),
    },
    randomUUID(),
  );
  return async (signal) => {
    await dispatcher.run(signal);
    directory.close();
    keyDirectory.close();
    await Promise.all([sender, eventLog, stateStore, readModels, leases].map((port) => port.close()));
  };
}

import { encounter } from '../../domain/records/kinds/encounter.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import type { StateStore } from '../../storage/stateStore.ts';
import { monthBefore } from '../audit/accessReport.ts';
import type { AccessAction } from '../audit/recordAccess.ts';
import { newestEntries } from '../audit/trail.ts';
import type { ApiKey } from '../auth/apiKeys.ts';
import { BEHIND_MS, type Consumer, consumerLags, SILENT_MS } from '../eventStream/consumers.ts';
import type { MessageStore } from '../integrations/messages/store.ts';
import { readTally } from '../readiness/counts.ts';
import { readRuleSettings } from '../readiness/rules/rule.ts';
import { type WebhookManager, webhookProblems } from '../webhooks/manager.ts';
import type { Topic } from './subscriptions.ts';

/** Why users are notified. It contains no PHI, and no id of a record. */
export interface Cause {
  topic: Topic;
  /** Identifies it as long as it lasts: it is sent once to each user. */
  key: string;
  /** One sentence. */
  text: string;
  /** The dashboard's page about it, below `/dashboard`. */
  path: string;
}

export interface CausePorts {
  eventLog: EventLog;
  readModels: ReadModels;
  stateStore: StateStore;
  messages: MessageStore;
  webhooks: Pick<WebhookManager, 'all'>;
  /** Returns the API keys of a workspace. */
  keysOf(workspace: string): readonly ApiKey[];
  /** Resolves with the seconds since the last heads were sent; undefined where none are. */
  headsAge(): Promise<number | undefined>;
  /** The seconds after which heads are late. */
  headsLateAfter: number;
  /** Resolves with the seconds since the last backup; undefined where that is not known. */
  backupAge(): Promise<number | undefined>;
}

const DAY_MS = 86_400_000;
/** A webhook that fails for less than that may just be restarting. */
const FAILING_MS = 10 * 60_000;
/** Waiting messages that are counted. */
const MOST_COUNTED = 100;
const EXPIRES_WITHIN_MS = 7 * DAY_MS;
/** As `ChartledgerBackupOld` (ops/alerts.yaml). */
const BACKUP_LATE_SECONDS = 2 * 86_400;

/**
 * Resolves with what in a workspace, which has these consumers, users may have to be notified of, at a moment in milliseconds since 1970.
 * Rejects with `unavailable`.
 */
export async function causesIn(
  ports: CausePorts,
  workspace: string,
  consumers: readonly Consumer[],
  now: number,
): Promise<Cause[]> {
  const found = await Promise.all([
    webhookCauses(ports, workspace, now),
    messageCauses(ports, workspace),
    filingCauses(ports, workspace),
    consumerCauses(ports, consumers, now),
    breakGlassCauses(ports, workspace, now),
    reportCauses(ports, workspace, now),
  ]);
  return [...found.flat(), ...keyCauses(ports, workspace, now)];
}

async function webhookCauses(ports: CausePorts, workspace: string, now: number): Promise<Cause[]> {
  const all = await webhookProblems(ports, workspace);
  return all.flatMap(({ webhook, failingSince }): Cause[] => {
    const path = `/workspaces/${workspace}/webhooks/${webhook.id}`;
    // The path of a URL may hold a secret.
    const host = URL.parse(webhook.url)?.host;
    if (failingSince === undefined) {
      const { disabledReason: reason, enabledAt } = webhook;
      if (reason === undefined || reason === 'caller') return [];
      const key = `webhook_disabled/${webhook.id}/${enabledAt}`;
      return [{ topic: 'webhook_disabled', key, path, text: `The webhook to ${host} was disabled.` }];
    }
    if (now - failingSince < FAILING_MS) return [];
    const since = new Date(failingSince).toISOString().slice(0, 16).replace('T', ' ');
    const key = `webhook_failing/${webhook.id}/${failingSince}`;
    const text = `The webhook to ${host} has accepted nothing since ${since} UTC.`;
    return [{ topic: 'webhook_failing', key, path, text }];
  });
}

async function consumerCauses(
  { eventLog }: CausePorts,
  consumers: readonly Consumer[],
  now: number,
): Promise<Cause[]> {
  const lags = await consumerLags(eventLog, consumers);
  return lags.flatMap(({ consumer: { workspace, type, name, lastContact }, oldestAt = now }): Cause[] => {
    const isSilent = now - lastContact > SILENT_MS;
    if (!isSilent && now - oldestAt <= BEHIND_MS) return [];
    const text = isSilent
      ? `The ${type} ${name} has made no contact for a day.`
      : `An event has waited for the ${type} ${name} for an hour.`;
    const key = `consumer_behind/${workspace}/${name}/${isSilent ? lastContact : oldestAt}`;
    return [{ topic: 'consumer_behind', key, path: `/workspaces/${workspace}/webhooks`, text }];
  });
}

async function breakGlassCauses(ports: CausePorts, workspace: string, now: number): Promise<Cause[]> {
  const action = 'record.break_glass' satisfies AccessAction;
  const from = new Date(now - DAY_MS).toISOString();
  const found = await newestEntries(ports, workspace, { action, from }, MOST_COUNTED);
  return found.map(({ eventId, recordedAt }): Cause => {
    const at = recordedAt.slice(0, 16).replace('T', ' ');
    const text = `A user without the right for a record opened it with a reason at ${at} UTC.`;
    const path = `/workspaces/${workspace}/audit?action=${action}`;
    return { topic: 'break_glass', key: `break_glass/${eventId}`, path, text };
  });
}

/** There is a report of every month: its cause lasts for the month after, in the time zone of the workspace. */
async function reportCauses({ eventLog }: CausePorts, workspace: string, now: number): Promise<Cause[]> {
  const { timeZone } = await readRuleSettings(eventLog, workspace);
  const month = monthBefore(now, timeZone);
  const text = `The report of access out of the ordinary in ${month} is complete.`;
  const path = `/workspaces/${workspace}/audit/report?month=${month}`;
  return [{ topic: 'access_report', key: `access_report/${workspace}/${month}`, path, text }];
}

async function messageCauses({ messages }: CausePorts, workspace: string): Promise<Cause[]> {
  const query = { limit: MOST_COUNTED, rejected: true, pageToken: undefined };
  const { items, next_page_token } = await messages.list(workspace, query);
  const count = items.filter(({ state }) => state !== 'received').length;
  if (count === 0) return [];
  const more = next_page_token === null ? '' : ' or more';
  const text =
    count === 1 && more === ''
      ? 'A message was not fully accepted and waits to be corrected or processed again.'
      : `${count}${more} messages were not fully accepted and wait to be corrected or processed again.`;
  const path = `/workspaces/${workspace}/messages?rejected=yes`;
  return [{ topic: 'messages_waiting', key: `messages_waiting/${workspace}`, path, text }];
}

/** The rule that finds that an encounter can soon no longer be billed. */
const FILING_RULE = 'filing_limit_near';

async function filingCauses({ readModels }: CausePorts, workspace: string): Promise<Cause[]> {
  const { rules } = await readTally(readModels, workspace);
  const count = Object.values(rules).reduce((sum, counts) => sum + (counts[FILING_RULE] ?? 0), 0);
  if (count === 0) return [];
  const what =
    count === 1 ? `One ${encounter.kind} is` : `${count.toLocaleString('en-US')} ${encounter.plural} are`;
  return [
    {
      topic: 'filing_limit_near',
      key: `filing_limit_near/${workspace}`,
      text: `${what} close to the filing limit of the payer.`,
      path: `/workspaces/${workspace}/readiness?state=any&rule=${FILING_RULE}`,
    },
  ];
}

function keyCauses({ keysOf }: CausePorts, workspace: string, now: number): Cause[] {
  return keysOf(workspace).flatMap(({ id, name, state, expiresAt, replacedBy }): Cause[] => {
    if (state !== 'active' || expiresAt === undefined || replacedBy !== undefined) return [];
    const left = Date.parse(expiresAt) - now;
    if (left <= 0 || left > EXPIRES_WITHIN_MS) return [];
    const text = `The API key ${name} expires on ${expiresAt.slice(0, 10)}.`;
    const path = `/workspaces/${workspace}/keys`;
    return [{ topic: 'key_expires', key: `key_expires/${id}/${expiresAt}`, path, text }];
  });
}

/** Resolves with what users with a role in all workspaces may have to be notified of. Rejects with `unavailable`. */
export async function causesOfAll(ports: CausePorts): Promise<Cause[]> {
  const [heads, backup] = await Promise.all([ports.headsAge(), ports.backupAge()]);
  const causes: Cause[] = [];
  if (heads !== undefined && heads > ports.headsLateAfter) {
    const text = `Signed heads were last sent ${hours(heads)} ago.`;
    causes.push({ topic: 'head_late', key: 'head_late', path: '/system', text });
  }
  if (backup !== undefined && backup > BACKUP_LATE_SECONDS) {
    const text = `The last backup was taken ${hours(backup)} ago.`;
    causes.push({ topic: 'backup_late', key: 'backup_late', path: '/system', text });
  }
  return causes;
}

function hours(seconds: number): string {
  const count = Math.floor(seconds / 3_600);
  return count === 1 ? '1 hour' : `${count.toLocaleString('en-US')} hours`;
}

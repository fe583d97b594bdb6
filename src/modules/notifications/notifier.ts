import { v5 as uuidv5 } from 'uuid';
import { z } from 'zod';
import type { StateStore, StateTable } from '../../storage/stateStore.ts';
import { ALL_WORKSPACES, roleIn, type User } from '../auth/users.ts';
import { type Consumer, storedConsumers } from '../eventStream/consumers.ts';
import { signMessage } from '../webhooks/messages.ts';
import type { WebhookSender } from '../webhooks/sender.ts';
import { type Cause, type CausePorts, causesIn, causesOfAll } from './causes.ts';
import type { Mailer } from './mail.ts';
import { allSubscriptions, type Subscription, subscriptionSecret, topicReaders } from './subscriptions.ts';

/** For ids that are derived from what is sent (RFC 9562, version 5). */
const NAMESPACE = '6f1f3d8e-2a41-4c52-9a70-1f4b0a4e9f27';

/** The channels by which somebody is notified. */
type Channel = 'mail' | 'webhook';

const sentShape = z.object({ key: z.string(), at: z.string() });

/** Of which causes users were notified, by subscription and channel, as long as the causes last. If lost, they are notified again. */
export const sentNotificationsTable: StateTable<z.infer<typeof sentShape>> = {
  name: 'sent_notifications_v1',
  body: sentShape,
};

/** Causes of a subscription that are looked up at a time. */
const MOST_SENT = 1_000;

export interface NotifierPorts extends CausePorts {
  stateStore: StateStore;
  findUser(id: string): User | undefined;
  /** Whether a workspace is active. */
  isActive(workspace: string): boolean;
  /** Undefined where mail is not configured. */
  mailer: Mailer | undefined;
  sender: Pick<WebhookSender, 'send'>;
  /** Resolves with the keys from which secrets are derived: the one in use first. */
  secretsKeys(): Promise<readonly Uint8Array[]>;
  publicUrl: string | undefined;
}

/** Notifies users of what they chose, once for each cause. */
export class Notifier {
  readonly #ports: NotifierPorts;

  constructor(ports: NotifierPorts) {
    this.#ports = ports;
  }

  /**
   * Looks for causes at a moment, in milliseconds since 1970, and notifies those who were not notified of them yet. What could not
   * be sent is tried again the next time; resolves with how many messages those were. Rejects with `unavailable`.
   */
  async check(now: number, signal: AbortSignal): Promise<number> {
    const subscriptions = await allSubscriptions(this.#ports.stateStore);
    const causes = new Map<string, Promise<Cause[]>>();
    let consumers: Promise<Map<string, Consumer[]>> | undefined;
    const consumersOf = async (workspace: string) => {
      consumers ??= storedConsumers(this.#ports.stateStore).then((all) =>
        Map.groupBy(all, (one) => one.workspace),
      );
      return (await consumers).get(workspace) ?? [];
    };
    const causesOf = (scope: string) => {
      const known =
        causes.get(scope) ??
        (scope === ALL_WORKSPACES
          ? causesOfAll(this.#ports)
          : consumersOf(scope).then((found) => causesIn(this.#ports, scope, found, now)));
      causes.set(scope, known);
      return known;
    };
    let failed = 0;
    for (const one of subscriptions) {
      if (signal.aborted) break;
      const wanted = await this.#wanted(one, causesOf);
      for (const channel of ['mail', 'webhook'] as const) {
        if (one[channel] !== undefined && !(await this.#notify(one, channel, wanted, signal))) failed += 1;
      }
    }
    return failed;
  }

  /** Resolves with the causes that the user chose, and may be notified of by now. */
  async #wanted(
    { user: id, workspace, topics }: Subscription,
    causesOf: (scope: string) => Promise<Cause[]>,
  ): Promise<Cause[]> {
    const user = this.#ports.findUser(id);
    if (user?.state !== 'active' || !this.#ports.isActive(workspace)) return [];
    const allowed = topics.filter((topic) => {
      const { roles, isOfAll } = topicReaders[topic];
      const role = isOfAll ? roleIn(user) : roleIn(user, workspace);
      return role !== undefined && roles.includes(role);
    });
    if (allowed.length === 0) return [];
    const ofAll = allowed.some((topic) => topicReaders[topic].isOfAll) ? await causesOf(ALL_WORKSPACES) : [];
    const all = [...(await causesOf(workspace)), ...ofAll];
    return all.filter(({ topic }) => allowed.includes(topic));
  }

  /** Sends what is new by a channel; resolves with whether nothing is left to be sent. */
  async #notify(
    subscription: Subscription,
    channel: Channel,
    causes: readonly Cause[],
    signal: AbortSignal,
  ): Promise<boolean> {
    const { stateStore } = this.#ports;
    const { workspace, user } = subscription;
    const partition = `${workspace}/${user} ${channel}`;
    const idOf = (key: string) => `${partition} ${key}`;
    const rows = await stateStore.page(sentNotificationsTable, { partition, limit: MOST_SENT });
    const over = rows.filter(({ body }) => causes.every(({ key }) => key !== body.key));
    if (over.length > 0) {
      await stateStore.write([
        { table: sentNotificationsTable, remove: over.map(({ id }) => id), upTo: Number.MAX_SAFE_INTEGER },
      ]);
    }
    const fresh = causes.filter(({ key }) => rows.every(({ body }) => body.key !== key));
    if (fresh.length === 0) return true;
    const sent =
      channel === 'mail'
        ? await this.#mail(subscription, fresh)
        : await this.#post(subscription, fresh, signal);
    const at = new Date().toISOString();
    const save = sent.map(({ key }, index) => ({
      ...{ id: idOf(key), partition, order: Date.parse(at) * 1_000 + index, revision: 1 },
      body: { key, at },
    }));
    if (save.length > 0) await stateStore.save(sentNotificationsTable, save);
    return sent.length === fresh.length;
  }

  #urlOf({ path }: Cause): string | undefined {
    const { publicUrl } = this.#ports;
    return publicUrl === undefined ? undefined : `${publicUrl}/dashboard${path}`;
  }

  /** Sends one mail about all causes; resolves with those that were sent. */
  async #mail(
    { mail = '', workspace, user }: Subscription,
    causes: readonly Cause[],
  ): Promise<readonly Cause[]> {
    const { mailer } = this.#ports;
    if (mailer === undefined) return [];
    const [first] = causes as readonly [Cause, ...Cause[]];
    const subject = causes.length === 1 ? first.text : `${first.text} And ${causes.length - 1} more.`;
    const lines = causes.map((cause) => [cause.text, this.#urlOf(cause)].filter(Boolean).join('\n'));
    const text = [
      `Workspace ${workspace}`,
      ...lines,
      'You chose to be notified. To change that, open "Notifications" on the dashboard.',
    ].join('\n\n');
    const keys = causes.map(({ key }) => key);
    const id = uuidv5(JSON.stringify([workspace, user, keys]), NAMESPACE);
    const isSent = await mailer.send({ to: mail, subject: `[${workspace}] ${subject}`, text, id });
    return isSent ? causes : [];
  }

  /** Posts a signed message about each cause; resolves with those that were accepted. */
  async #post(subscription: Subscription, causes: readonly Cause[], signal: AbortSignal): Promise<Cause[]> {
    const { sender, secretsKeys } = this.#ports;
    const { workspace, user, webhook } = subscription;
    const secrets = (await secretsKeys()).map((key) => subscriptionSecret(key, subscription));
    const sent: Cause[] = [];
    for (const cause of causes) {
      const { topic, key, text } = cause;
      const id = uuidv5(JSON.stringify([workspace, user, key]), NAMESPACE);
      const url = this.#urlOf(cause);
      const now = Date.now();
      const body = JSON.stringify({
        ...{ specversion: '1.0', id, source: `/workspaces/${workspace}`, type: 'chartledger.notification' },
        ...{ time: new Date(now).toISOString(), datacontenttype: 'application/json' },
        data: { topic, text, ...(url !== undefined && { url }) },
      });
      const headers = signMessage({ id, body }, secrets, now);
      const { status = 0 } = await sender.send(webhook?.url ?? '', headers, body, signal);
      if (status >= 200 && status < 300) sent.push(cause);
    }
    return sent;
  }
}

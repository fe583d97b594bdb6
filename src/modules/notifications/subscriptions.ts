import { createHmac, randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { StateStore, StateTable } from '../../storage/stateStore.ts';
import type { Role } from '../auth/users.ts';
import { SECRET_PREFIX } from '../webhooks/messages.ts';

/** What users can be notified of. */
export const topics = [
  ...['webhook_failing', 'webhook_disabled', 'messages_waiting', 'filing_limit_near', 'key_expires'],
  ...['consumer_behind', 'break_glass', 'access_report', 'head_late', 'backup_late'],
] as const;
export type Topic = (typeof topics)[number];

/** The roles whose users can choose a topic: in the workspace, or in all workspaces for what all of them share. */
export const topicReaders: Record<Topic, { roles: readonly Role[]; isOfAll: boolean }> = {
  webhook_failing: { roles: ['admin', 'integrator'], isOfAll: false },
  webhook_disabled: { roles: ['admin', 'integrator'], isOfAll: false },
  messages_waiting: { roles: ['admin', 'compliance', 'integrator'], isOfAll: false },
  filing_limit_near: { roles: ['admin', 'compliance', 'billing'], isOfAll: false },
  key_expires: { roles: ['admin', 'integrator'], isOfAll: false },
  consumer_behind: { roles: ['admin', 'integrator'], isOfAll: false },
  break_glass: { roles: ['admin', 'compliance'], isOfAll: false },
  access_report: { roles: ['admin', 'compliance', 'auditor'], isOfAll: false },
  head_late: { roles: ['admin', 'compliance'], isOfAll: true },
  backup_late: { roles: ['admin'], isOfAll: true },
};

const subscriptionShape = z.object({
  /** Id of the user. */
  user: z.string(),
  workspace: z.string(),
  topics: z.array(z.enum(topics)),
  /** An e-mail address. */
  mail: z.string().optional(),
  /** A URL to which signed messages are sent; its secret is derived from the salt. */
  webhook: z.object({ url: z.string(), salt: z.string() }).optional(),
});

/** Of what in a workspace a user wants to be notified, and how. */
export type Subscription = z.infer<typeof subscriptionShape>;

/** Where a row is lost, its user is not notified until they choose again. */
export const subscriptionsTable: StateTable<Subscription> = {
  name: 'notification_subscriptions_v1',
  body: subscriptionShape,
};

const ALL = 'all';
const PAGE = 200;

function idOf({ workspace, user }: Pick<Subscription, 'workspace' | 'user'>): string {
  return `${workspace}/${user}`;
}

/** Resolves with what a user chose in a workspace; undefined for nothing. Rejects with `unavailable`. */
export async function findSubscription(
  stateStore: StateStore,
  owner: Pick<Subscription, 'workspace' | 'user'>,
): Promise<Subscription | undefined> {
  const [row] = await stateStore.load(subscriptionsTable, [idOf(owner)]);
  return row?.body;
}

/** Resolves with what all users chose. Rejects with `unavailable`. */
export async function allSubscriptions(stateStore: StateStore): Promise<Subscription[]> {
  const found: Subscription[] = [];
  for (let after: number | undefined; ; ) {
    const query = { partition: ALL, limit: PAGE, ...(after !== undefined && { after }) };
    const rows = await stateStore.page(subscriptionsTable, query);
    found.push(...rows.map(({ body }) => body));
    if (rows.length < PAGE) return found;
    after = rows.at(-1)?.order;
  }
}

/**
 * Keeps what a user chose. A new URL gets a new secret. Resolves with what is kept, and whether the secret is new. Rejects with
 * `unavailable`.
 */
export async function saveSubscription(
  stateStore: StateStore,
  { url, ...chosen }: Omit<Subscription, 'webhook'> & { url: string | undefined },
): Promise<{ subscription: Subscription; isSecretNew: boolean }> {
  const [row] = await stateStore.load(subscriptionsTable, [idOf(chosen)]);
  const known = row?.body.webhook;
  const isSecretNew = url !== undefined && known?.url !== url;
  const webhook = url === undefined ? undefined : isSecretNew ? { url, salt: randomUUID() } : known;
  const body: Subscription = { ...chosen, ...(webhook && { webhook }) };
  const revision = (row?.revision ?? 0) + 1;
  // The order only keeps rows apart: it is that of their first saving.
  const order = row?.order ?? Date.now();
  await stateStore.save(subscriptionsTable, [{ id: idOf(chosen), partition: ALL, order, revision, body }]);
  return { subscription: body, isSecretNew };
}

/** Returns the secret that signs messages to the URL of a subscription, as Standard Webhooks defines it, by a key of the service. */
export function subscriptionSecret(key: Uint8Array, { workspace, user, webhook }: Subscription): string {
  const parts = JSON.stringify(['notifications', workspace, user, webhook?.salt]);
  return SECRET_PREFIX + createHmac('sha256', key).update(parts).digest('base64');
}

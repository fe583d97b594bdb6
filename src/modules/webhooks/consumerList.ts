import type { Caller } from '../../domain/events/newEvent.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { findPreviousAccess, recordAccess } from '../audit/recordAccess.ts';
import {
  type ConsumerLag,
  type Consumers,
  consumerLags,
  type consumerTypes,
} from '../eventStream/consumers.ts';
import { formatPosition } from '../eventStream/position.ts';
import type { WebhookManager, WebhookStatusView } from './manager.ts';
import type { WebhookCaller } from './settings.ts';

/** Somebody who gets the events of a workspace, as people see them. Times are ISO 8601 in UTC. */
export interface ConsumerView {
  type: 'webhook' | (typeof consumerTypes)[number];
  /** For a webhook, its id. */
  name: string;
  /** The key that it read with last; null for others. */
  key_id: string | null;
  /** The view of events, or the payload of the webhook. */
  contents: string;
  position: string;
  pending: number;
  /** Whether there are no more. */
  pending_is_exact: boolean;
  oldest_pending_at: string | null;
  /** For a webhook, when it last accepted a message. */
  last_contact_at: string | null;
  /** Whether the service keeps its position. */
  resumes: boolean;
}

function instant(ms: number): string {
  return new Date(ms).toISOString();
}

function viewOf({ consumer, pending, isExact, oldestAt }: ConsumerLag): ConsumerView {
  const { type, name, key, view, position, kept, lastContact } = consumer;
  return {
    ...{ type, name, key_id: key, contents: view, position: formatPosition(position), pending },
    pending_is_exact: isExact,
    oldest_pending_at: oldestAt === undefined ? null : instant(oldestAt),
    last_contact_at: instant(lastContact),
    resumes: kept !== undefined,
  };
}

function viewOfWebhook({ id, payload, delivery }: WebhookStatusView): ConsumerView {
  const { position, pending, pending_is_exact, oldest_pending_at, last_success_at } = delivery;
  return {
    ...{ type: 'webhook', name: id, key_id: null, contents: payload, position },
    ...{ pending, pending_is_exact, oldest_pending_at },
    ...{ last_contact_at: last_success_at, resumes: true },
  };
}

export interface ConsumerListPorts {
  eventLog: EventLog;
  consumers: Consumers;
  webhooks: WebhookManager;
}

/** Removes a reader or sink, which the audit trail says first. Rejects with `not_found` and `unavailable`. */
export async function removeConsumer(
  { eventLog, consumers }: Pick<ConsumerListPorts, 'eventLog' | 'consumers'>,
  caller: Caller,
  name: string,
): Promise<void> {
  const consumer = await consumers.find(caller.workspace, name).catch(async (error: unknown) => {
    // An earlier try of the request removed it.
    const isGone = error instanceof ServiceError && error.code === 'not_found';
    if (isGone && (await findPreviousAccess(eventLog, caller))) return undefined;
    throw error;
  });
  await recordAccess(eventLog, caller, { action: 'consumer.removed', query: { consumer: name } });
  if (consumer) await consumers.remove(consumer);
}

/**
 * Resolves with who gets the events of a workspace: readers and sinks by name, then the webhooks that the caller may work with. Rejects
 * with `unavailable`.
 */
export async function listConsumers(
  { eventLog, consumers, webhooks }: ConsumerListPorts,
  caller: WebhookCaller,
): Promise<ConsumerView[]> {
  const named = await consumers.list(caller.workspace);
  const sent = caller.permissions.includes('webhooks') ? await webhooks.list(caller) : [];
  const [lags, views] = await Promise.all([consumerLags(eventLog, named), webhooks.views(sent)]);
  return [...lags.map(viewOf), ...views.map(viewOfWebhook)];
}

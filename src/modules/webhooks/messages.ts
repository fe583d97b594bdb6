import { createHash, createHmac } from 'node:crypto';
import type { RecordedEvent } from '../../domain/events/event.ts';
import { type DisclosedRange, type DisclosureTerms, erasureStep } from '../../domain/events/payloads.ts';
import { version } from '../../platform/version.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { recordAccess } from '../audit/recordAccess.ts';
import { type Change, type Narrowing, toNarrowedEvent } from '../eventStream/changedFields.ts';
import {
  type CloudEvent,
  type EventStreamData,
  feedEventTypes,
  toCloudEvent,
} from '../eventStream/cloudEvents.ts';
import { filterTypes, serviceCaller, type Webhook, type WebhookRequest } from './webhook.ts';

/** What a message reports of a change. */
export type ReportedChange = Pick<Change, 'changed' | 'isFirst' | 'after'>;

/** Returns what is kept of a change until it is reported: what was sent is in the event, and not held twice. */
export function reported({ changed, isFirst, after }: Change): ReportedChange {
  return { changed, isFirst, ...(after && { after }) };
}

/** Of a message's body, in UTF-8. */
export const MAX_BODY_BYTES = 256 * 1024;

/** 162 bits, as base64url. */
const HASH_LENGTH = 27;

/** What is sent to an endpoint: the id for `webhook-id` and the body, a CloudEvent in its structured JSON form. */
export interface WebhookMessage {
  /** `msg_…`; always the same for the same event sent to the same webhook. */
  id: string;
  body: string;
  /** The trace that it is part of, for the header of that name. */
  traceparent?: string | undefined;
}

/** `data` of a message that only points to what happened. */
interface ReferenceData extends Pick<EventStreamData, 'version' | 'changed'> {
  outcome: 'created' | 'updated' | 'unchanged' | 'removed' | 'erased';
  /** The message was to hold more, but that exceeds the maximum message size. */
  truncated?: true;
}

/** A CloudEvent without the values of the record. */
type ReferenceEvent = Omit<CloudEvent, 'data' | 'dataschema'> & { data: ReferenceData };

/** Type of the message sent on request to see whether messages arrive. */
export const PING_TYPE = 'chartledger.webhook.ping.v1';

/** Returns the id of the message that tells a webhook of an event. */
export function messageId(webhookId: string, eventId: string): string {
  const hash = createHash('sha256').update(`${webhookId}.${eventId}`).digest('base64url');
  return `msg_${hash.slice(0, HASH_LENGTH)}`;
}

/**
 * Returns the message that tells a webhook of an event of one of the `feedEventTypes`; `change` is what it did,
 * `narrowing` what makes the view of the payload, except for the full one and a reference; `publicUrl` is where receivers find the service. Anything larger than `MAX_BODY_BYTES` is sent as a reference,
 * marked `truncated`.
 */
export function buildMessage(
  { id, payload }: Pick<Webhook, 'id' | 'payload'>,
  event: RecordedEvent,
  change: ReportedChange,
  narrowing: Narrowing | undefined,
  publicUrl?: string,
): WebhookMessage {
  const shown = narrowing
    ? toNarrowedEvent(narrowing, event, change, publicUrl)
    : toCloudEvent(event, change.changed, publicUrl);
  const outcome = outcomeOf(event, change);
  const body = bodyOf(shown, outcome, payload === 'reference');
  return { id: messageId(id, event.id), body, traceparent: shown.traceparent };
}

/** Returns the message that answers a ping request. */
export function buildPing({ id }: Pick<Webhook, 'id'>, request: WebhookRequest): WebhookMessage {
  const ping = {
    specversion: '1.0',
    id: request.eventId,
    source: `/webhooks/${id}`,
    type: PING_TYPE,
    time: request.at,
    datacontenttype: 'application/json',
    data: { webhook_id: id },
  };
  return { id: messageId(id, request.eventId), body: JSON.stringify(ping) };
}

function outcomeOf(event: RecordedEvent, { changed, isFirst }: ReportedChange): ReferenceData['outcome'] {
  if (erasureStep(event)) return 'erased';
  if (event.type === 'DocumentRemoved') return 'removed';
  if (isFirst) return 'created';
  return changed.length > 0 ? 'updated' : 'unchanged';
}

/**
 * Returns the body of a message: the event, or a reference to it; marked `truncated` where it should have been the
 * event but that is too large.
 */
function bodyOf(event: CloudEvent, outcome: ReferenceData['outcome'], asReference: boolean): string {
  if (asReference) return JSON.stringify(toReference(event, { outcome }));
  const body = JSON.stringify(event);
  if (Buffer.byteLength(body) <= MAX_BODY_BYTES) return body;
  return JSON.stringify(toReference(event, { outcome, truncated: true }));
}

function toReference(
  { data: { version, changed }, dataschema, ...event }: CloudEvent,
  { outcome, truncated }: Pick<ReferenceData, 'outcome' | 'truncated'>,
): ReferenceEvent {
  return { ...event, data: { version, outcome, changed, ...(truncated && { truncated }) } };
}

/**
 * Returns the message that tells a webhook of an event, built from its form in the event stream: the de-identified
 * view for a payload of that name, otherwise the full one.
 */
export function messageOfCloudEvent(
  { id, payload }: Pick<Webhook, 'id' | 'payload'>,
  event: CloudEvent,
): WebhookMessage {
  const body = bodyOf(event, outcomeOfCloudEvent(event), payload === 'reference');
  return { id: messageId(id, event.id), body, traceparent: event.traceparent };
}

function outcomeOfCloudEvent({ type, data: { changed } }: CloudEvent): ReferenceData['outcome'] {
  if (/[._]erased\.v\d+$/.test(type)) return 'erased';
  if (/\.removed\.v\d+$/.test(type)) return 'removed';
  // Only the first version includes the id, which never changes.
  if (changed.includes('id') || changed.includes('document_id')) return 'created';
  return changed.length > 0 ? 'updated' : 'unchanged';
}

/**
 * Records in the audit trail what was sent to a webhook under which terms, whether or not it was accepted. Rejects
 * with `unavailable`.
 */
export async function recordSent(
  eventLog: EventLog,
  webhook: Webhook,
  sent: Pick<DisclosedRange, 'ranges' | 'count'>,
  terms: DisclosureTerms | undefined,
): Promise<void> {
  const { id, payload } = webhook;
  const types = filterTypes(webhook);
  await recordAccess(
    eventLog,
    { ...serviceCaller(webhook), disclosedTo: terms },
    {
      action: 'webhook.sent',
      webhook_id: id,
      shown: {
        ...sent,
        ...(types.size < feedEventTypes.length && { event_types: [...types] }),
        ...(payload !== 'full' && { view: payload }),
      },
    },
  );
}

/** The prefix of every secret; its key follows in base64. */
export const SECRET_PREFIX = 'whsec_';

/** Whether a text is a secret as defined by Standard Webhooks: `whsec_`, and 24 to 64 bytes in base64. */
export function isSecret(text: string): boolean {
  const [, key] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text) ?? [];
  const { length } = Buffer.from(key ?? '', 'base64');
  return length >= 24 && length <= 64;
}

/**
 * Returns the headers of a message at a moment (milliseconds since 1970), signed with each of the secrets
 * (`whsec_…`), by the Standard Webhooks specification 1.0: HMAC-SHA256 over `{id}.{timestamp}.{body}`, scheme `v1`.
 */
export function signMessage(
  { id, body, traceparent }: WebhookMessage,
  secrets: readonly string[],
  now: number,
): Record<string, string> {
  const timestamp = Math.floor(now / 1000);
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
    'content-type': 'application/cloudevents+json',
    'user-agent': `Chartledger/${version}`,
    ...(traceparent !== undefined && { traceparent }),
  };
}

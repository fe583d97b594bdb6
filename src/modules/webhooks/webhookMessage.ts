import { createHash } from 'node:crypto';
import type { RecordedEvent } from '../../domain/events/event.ts';
import { erasureStep } from '../../domain/events/recordErased.ts';
import type { Change } from '../eventStream/ChangedFields.ts';
import { type CloudEvent, type FeedData, toCloudEvent } from '../eventStream/cloudEvent.ts';
import type { Deidentifier } from '../eventStream/Deidentifier.ts';
import type { Webhook, WebhookRequest } from './webhook.ts';

/** What a message reports of a change. */
export type ToldOfChange = Pick<Change, 'changed' | 'isFirst'>;

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
export interface ReferenceData extends Pick<FeedData, 'version' | 'changed'> {
  outcome: 'created' | 'updated' | 'unchanged' | 'removed' | 'erased';
  /** The message was to hold more, but that exceeds the maximum message size. */
  truncated?: true;
}

/** A CloudEvent without the values of the record. */
export type ReferenceEvent = Omit<CloudEvent, 'data' | 'dataschema'> & { data: ReferenceData };

/** Type of the message sent on request to see whether messages arrive. */
export const PING_TYPE = 'chartledger.webhook.ping.v1';

/** Returns the id of the message that tells a webhook of an event. */
export function messageId(webhookId: string, eventId: string): string {
  const hash = createHash('sha256').update(`${webhookId}.${eventId}`).digest('base64url');
  return `msg_${hash.slice(0, HASH_LENGTH)}`;
}

/**
 * Returns the message that tells a webhook of an event of one of the `feedEventTypes`; `change` is what it did,
 * `publicUrl` is where receivers find the service. Anything larger than `MAX_BODY_BYTES` is sent as a reference,
 * marked `truncated`.
 */
export function buildMessage(
  { id, payload }: Pick<Webhook, 'id' | 'payload'>,
  event: RecordedEvent,
  change: ToldOfChange,
  deidentify: Deidentifier,
  publicUrl?: string,
): WebhookMessage {
  const full = toCloudEvent(event, change.changed, publicUrl);
  const shown = payload === 'deidentified' ? deidentify(event.metadata.workspace, full) : full;
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

function outcomeOf(event: RecordedEvent, { changed, isFirst }: ToldOfChange): ReferenceData['outcome'] {
  if (erasureStep(event)) return 'erased';
  if (event.type === 'DocumentRemoved') return 'removed';
  if (isFirst) return 'created';
  return changed.length > 0 ? 'updated' : 'unchanged';
}

/**
 * Returns the body of a message: the event, or a reference to it; marked `truncated` where it should have been the
 * event but that is too large.
 */
export function bodyOf(event: CloudEvent, outcome: ReferenceData['outcome'], asReference: boolean): string {
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

import type { JsonObject, RecordedEvent } from '../../events/event.ts';
import { currentVersion, upcast } from '../../events/upcast.ts';
import { catalog } from '../../records/catalog.ts';
import { formatPosition } from '../position.ts';

/** One type of event that the stream carries. */
export interface FeedEventType {
  /** As the log has it: `PatientUpserted`. */
  eventType: string;
  /** What it is about: a kind of record, or `document`. */
  kind: string;
  /** As subscribers see it: `chartledger.patient.upserted.v1`. */
  type: string;
}

function feedType(eventType: string, kind: string, what: string): FeedEventType {
  return { eventType, kind, type: `chartledger.${kind}.${what}.v${currentVersion(eventType)}` };
}

/** Every type of event that the stream carries, and no other is ever shown. */
export const feedEventTypes: readonly FeedEventType[] = [
  ...catalog.map(({ eventType, kind }) => feedType(eventType, kind, 'upserted')),
  feedType('DocumentUploaded', 'document', 'uploaded'),
  feedType('DocumentRemoved', 'document', 'removed'),
];

const byEventType = new Map(feedEventTypes.map((one) => [one.eventType, one]));

/** What the stream makes of an event of the log; undefined when it does not carry events of its type. */
export function feedEventType(eventType: string): FeedEventType | undefined {
  return byEventType.get(eventType);
}

/** `data` of every event of the stream. */
export interface FeedData {
  /** Place in the history of the record or document: 1, 2, 3 … */
  version: number;
  /** The fields as sent; for a document, what is known of its file. */
  sent: Record<string, unknown>;
  /** Names of the fields whose value the event changed; those of an insurance are dotted. */
  changed: string[];
}

/** An event in the structured JSON form of CloudEvents 1.0, with the extension `sequence`. */
export interface CloudEvent {
  specversion: '1.0';
  /** Unique: the id of the request that caused the event. */
  id: string;
  /** `/workspaces/{workspace}` */
  source: string;
  type: string;
  /** `{kind}/{percent-encoded id}`; of a document, `document/{encounter}/{document}`. */
  subject: string;
  /** When the log took it, ISO 8601 in UTC. */
  time: string;
  datacontenttype: 'application/json';
  /** Where the JSON Schema of `data` is, as an absolute URI; left out where the service's address is not known. */
  dataschema?: string;
  /** The event's position: sorts as text in the order of the log. */
  sequence: string;
  data: FeedData;
}

/** All of a CloudEvent but its data. */
export type CloudEventEnvelope = Omit<CloudEvent, 'data'>;

/**
 * The envelope of an event at the current schema version, of one of the `feedEventTypes`; `address` is the service's as
 * the subscriber knows it.
 */
export function toEnvelope(event: RecordedEvent, address: string | undefined): CloudEventEnvelope {
  const { kind, type } = byEventType.get(event.type) as FeedEventType;
  return {
    specversion: '1.0',
    id: event.id,
    source: `/workspaces/${event.metadata.workspace}`,
    type,
    subject: subjectOf(event, kind),
    time: event.recordedAt,
    datacontenttype: 'application/json',
    ...(address !== undefined && { dataschema: `${address}/schemas/${type}` }),
    sequence: formatPosition(event.position),
  };
}

/**
 * The event as subscribers see it, at the current schema version; `recorded` is one of the `feedEventTypes`, `address` the
 * service's as the subscriber knows it.
 */
export function toCloudEvent(recorded: RecordedEvent, changed: string[], address?: string): CloudEvent {
  const event = upcast(recorded);
  const isDocument = byEventType.get(event.type)?.kind === 'document';
  const sent = isDocument ? documentFields(event.data) : event.data;
  return { ...toEnvelope(event, address), data: { version: event.revision + 1, sent, changed } };
}

function subjectOf({ stream, metadata, data }: RecordedEvent, kind: string): string {
  if (kind === 'document') {
    const { encounter_id, document_id } = data as { encounter_id: string; document_id: string };
    return `document/${encodeURIComponent(encounter_id)}/${encodeURIComponent(document_id)}`;
  }
  // A record's stream is named `{workspace}.{kind}-{percent-encoded id}`.
  return `${kind}/${stream.slice(metadata.workspace.length + kind.length + 2)}`;
}

/** What subscribers see of a document's event: where the store holds the bytes is the service's own business. */
export function documentFields({ object_id, ...fields }: JsonObject): JsonObject {
  return fields;
}

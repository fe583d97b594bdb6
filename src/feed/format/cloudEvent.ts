import type { JsonObject, RecordedEvent } from '../../events/event.ts';
import { DOCUMENT_ERASED, erasureStep, READINESS_ERASED, RECORD_ERASED } from '../../events/recordErased.ts';
import { documentIdsOf, kindOfStream, readinessStream, recordIdOf } from '../../events/streamNames.ts';
import { currentVersion, upcast } from '../../events/upcast.ts';
import { catalog } from '../../records/catalog.ts';
import { isTraceparent } from '../../tracing/traceparent.ts';
import { formatPosition } from '../position.ts';

/** One type of event that the stream carries. */
export interface FeedEventType {
  /** As selections name it: its type in the log, `PatientUpserted`, and where that has several kinds, `RecordErased/patient`. */
  eventType: string;
  /** Its type in the log. */
  logType: string;
  /** What it is about: a kind of record, `document`, or `readiness`, be it of an encounter or of the whole workspace. */
  kind: string;
  /** As subscribers see it: `chartledger.patient.upserted.v1`. */
  type: string;
}

function feedType(eventType: string, kind: string, what: string, named = kind): FeedEventType {
  const logType = eventType.split('/')[0] as string;
  return { eventType, logType, kind, type: `chartledger.${named}.${what}.v${currentVersion(logType)}` };
}

/** Every type of event that the stream carries, and no other is ever shown. */
export const feedEventTypes: readonly FeedEventType[] = [
  ...catalog.map(({ eventType, kind }) => feedType(eventType, kind, 'upserted')),
  feedType('DocumentUploaded', 'document', 'uploaded'),
  feedType('DocumentRemoved', 'document', 'removed'),
  ...catalog.map(({ kind }) => feedType(`${RECORD_ERASED}/${kind}`, kind, 'erased')),
  feedType(DOCUMENT_ERASED, 'document', 'erased'),
  feedType('EncounterBilled', 'readiness', 'billed', 'encounter'),
  feedType('BillingChangeAcknowledged', 'readiness', 'billing_change_acknowledged', 'encounter'),
  feedType('EncounterReadinessChanged', 'readiness', 'readiness_changed', 'encounter'),
  feedType(READINESS_ERASED, 'readiness', 'readiness_erased', 'encounter'),
  feedType('ReadinessRulesApplied', 'readiness', 'rules_applied'),
];

const byEventType = new Map(feedEventTypes.map((one) => [one.eventType, one]));

/**
 * What the stream makes of an event of the log; undefined when it does not carry it: events of other types, and tombstones
 * but the last of an erasure.
 */
export function feedEventType(
  event: Pick<RecordedEvent, 'type' | 'stream' | 'data'>,
): FeedEventType | undefined {
  if (erasureStep(event) === 'begun') return undefined;
  const { type, stream } = event;
  return byEventType.get(type === RECORD_ERASED ? `${type}/${kindOfStream(stream)}` : type);
}

/** How selections name the type of an event, as `FeedEventType.eventType`; empty when the stream does not carry it. */
export function selectedAs(event: Pick<RecordedEvent, 'type' | 'stream' | 'data'>): string {
  return feedEventType(event)?.eventType ?? '';
}

/** The kinds of what these types of events, as `FeedEventType` names them, are about. */
export function kindsOf(eventTypes: readonly string[]): Set<string> {
  return new Set(eventTypes.flatMap((eventType) => byEventType.get(eventType)?.kind ?? []));
}

/** `data` of every event of the stream. */
export interface FeedData {
  /** Place in the history of the record or document, or of what is told of readiness: 1, 2, 3 … */
  version: number;
  /** The fields as sent; for a document, what is known of its file. */
  sent: Record<string, unknown>;
  /** Names of the fields whose value the event changed; those of an insurance are dotted. */
  changed: string[];
}

/** An event in the structured JSON form of CloudEvents 1.0, with the extensions `sequence`, `traceparent` and `pseudonymepoch`. */
export interface CloudEvent {
  specversion: '1.0';
  /** Unique: the id of the request that caused the event. */
  id: string;
  /** `/workspaces/{workspace}` */
  source: string;
  type: string;
  /**
   * `{kind}/{percent-encoded id}`; of a document, `document/{encounter}/{document}`; of readiness, `readiness/{encounter}`, or
   * `readiness` where it is of the workspace.
   */
  subject: string;
  /** When the log took it, ISO 8601 in UTC. */
  time: string;
  datacontenttype: 'application/json';
  /** Where the JSON Schema of `data` is, as an absolute URI; left out where the service's address is not known. */
  dataschema?: string;
  /** The event's position: sorts as text in the order of the log. */
  sequence: string;
  /** The trace that the request was part of (CloudEvents' distributed tracing extension). */
  traceparent?: string;
  /** Of which key the hashes are, in the de-identified view: 2, 3, 4 …; left out while the first one is in use. */
  pseudonymepoch?: number;
  data: FeedData;
}

/** All of a CloudEvent but its data. */
export type CloudEventEnvelope = Omit<CloudEvent, 'data'>;

/**
 * The envelope of an event at the current schema version, of one of the `feedEventTypes`; `address` is the service's as
 * the subscriber knows it.
 */
export function toEnvelope(event: RecordedEvent, address: string | undefined): CloudEventEnvelope {
  const { kind, type } = feedEventType(event) as FeedEventType;
  const { traceparent } = event.metadata;
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
    ...(isTraceparent(traceparent) && { traceparent }),
  };
}

/**
 * The event as subscribers see it, at the current schema version; `recorded` is one of the `feedEventTypes`, `address` the
 * service's as the subscriber knows it.
 */
export function toCloudEvent(recorded: RecordedEvent, changed: string[], address?: string): CloudEvent {
  const event = upcast(recorded);
  return {
    ...toEnvelope(event, address),
    data: { version: event.revision + 1, sent: sentBy(event), changed },
  };
}

function subjectOf({ stream, metadata }: RecordedEvent, kind: string): string {
  if (kind === 'document') {
    const { encounterId, documentId } = documentIdsOf(stream);
    return `document/${encodeURIComponent(encounterId)}/${encodeURIComponent(documentId)}`;
  }
  if (stream === readinessStream(metadata.workspace)) return kind;
  // A record's stream is named `{workspace}.{kind}-{percent-encoded id}`.
  return `${kind}/${stream.slice(metadata.workspace.length + kind.length + 2)}`;
}

/**
 * What subscribers see as sent by an event at the current schema version: where the store holds the bytes of a document is
 * the service's own business, and of an erasure the ids are told.
 */
export function sentBy({ type, stream, data }: RecordedEvent): JsonObject {
  if (type === RECORD_ERASED) return { id: recordIdOf(stream) };
  if (type === DOCUMENT_ERASED) {
    const { encounterId, documentId } = documentIdsOf(stream);
    return { encounter_id: encounterId, document_id: documentId };
  }
  if (type === READINESS_ERASED) return { encounter_id: recordIdOf(stream) };
  if (!type.startsWith('Document')) return data;
  const { object_id, ...fields } = data;
  return fields;
}

import { z } from 'zod';
import type { JsonObject, RecordedEvent } from '../../domain/events/event.ts';
import {
  DOCUMENT_ERASED,
  erasureStep,
  READINESS_ERASED,
  RECORD_ERASED,
} from '../../domain/events/payloads.ts';
import {
  claimOutcomes,
  claimParts,
  findingAnswers,
  outcomeSources,
  readinessStates,
} from '../../domain/events/readinessEvents.ts';
import { documentIdsOf, kindOfStream, readinessStream, recordIdOf } from '../../domain/events/streams.ts';
import { currentVersion, upcast } from '../../domain/events/upcasting.ts';
import { catalog } from '../../domain/records/catalog.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import {
  type FieldRules,
  hashed,
  listed,
  narrowedViews,
  pseudonymSchema,
  type Rule,
} from '../../domain/records/schema/deidentification.ts';
import { identifier } from '../../domain/records/schema/fields.ts';
import { isTraceparent } from '../../platform/traceparent.ts';
import type { EventFilter } from '../../storage/eventLog.ts';
import type { DeidentificationMethod } from './deidentificationSettings.ts';
import { formatPosition } from './position.ts';

/** A type of event in the stream. */
export interface StreamedEventType {
  /** Its name in selections: its type in the log, `PatientUpserted`, and if that covers several kinds, `RecordErased/patient`. */
  eventType: string;
  /** Its type in the log. */
  logType: string;
  /** What it is about: a kind of record, `document`, or `readiness`, whether of an encounter or of the whole workspace. */
  kind: string;
  /** Its name for subscribers: `chartledger.patient.upserted.v1`. */
  type: string;
}

function feedType(eventType: string, kind: string, what: string, named = kind): StreamedEventType {
  const logType = eventType.split('/')[0] as string;
  return { eventType, logType, kind, type: `chartledger.${named}.${what}.v${currentVersion(logType)}` };
}

/** Every type of event in the stream; no other is ever shown. */
export const feedEventTypes: readonly StreamedEventType[] = [
  ...catalog.map(({ eventType, kind }) => feedType(eventType, kind, 'upserted')),
  feedType('DocumentUploaded', 'document', 'uploaded'),
  feedType('DocumentRemoved', 'document', 'removed'),
  ...catalog.map(({ kind }) => feedType(`${RECORD_ERASED}/${kind}`, kind, 'erased')),
  feedType(DOCUMENT_ERASED, 'document', 'erased'),
  feedType('EncounterBilled', 'readiness', 'billed', 'encounter'),
  feedType('BillingChangeAcknowledged', 'readiness', 'billing_change_acknowledged', 'encounter'),
  feedType('FindingAnswered', 'readiness', 'finding_answered', 'encounter'),
  feedType('ClaimOutcomeReported', 'readiness', 'claim_outcome_reported', 'encounter'),
  feedType('EncounterReadinessChanged', 'readiness', 'readiness_changed', 'encounter'),
  feedType(READINESS_ERASED, 'readiness', 'readiness_erased', 'encounter'),
  feedType('ReadinessRulesApplied', 'readiness', 'rules_applied'),
];

/** The types in the log of the events in the stream, and of the tombstones that precede the last one of an erasure. */
export const feedLogTypes: ReadonlySet<string> = new Set(feedEventTypes.map(({ logType }) => logType));

const byEventType = new Map(feedEventTypes.map((one) => [one.eventType, one]));

/**
 * Returns the stream's type for an event of the log; undefined for events that are not in the stream: those of other types, and
 * all tombstones of an erasure except the last.
 */
export function feedEventType(
  event: Pick<RecordedEvent, 'type' | 'stream' | 'data'>,
): StreamedEventType | undefined {
  if (erasureStep(event) === 'begun') return undefined;
  const { type, stream } = event;
  return byEventType.get(type === RECORD_ERASED ? `${type}/${kindOfStream(stream)}` : type);
}

/** Returns the name of an event's type in selections, as `StreamedEventType.eventType`; empty when it is not in the stream. */
export function selectedAs(event: Pick<RecordedEvent, 'type' | 'stream' | 'data'>): string {
  return feedEventType(event)?.eventType ?? '';
}

/** Returns the kinds that these event types, named as in `StreamedEventType`, are about. */
function kindsOf(eventTypes: readonly string[]): Set<string> {
  return new Set(eventTypes.flatMap((eventType) => byEventType.get(eventType)?.kind ?? []));
}

/** The `data` of every event in the stream. */
export interface EventStreamData {
  /** Place in the history of the record or document, or of readiness reports: 1, 2, 3 … */
  version: number;
  /** The fields as sent; for a document, what is known of its file. */
  sent: Record<string, unknown>;
  /** Names of the fields whose value the event changed; dotted for those of an insurance. */
  changed: string[];
}

/** An event in the structured JSON form of CloudEvents 1.0, with the extensions `sequence`, `traceparent`, `pseudonymepoch` and `deidentification`. */
export interface CloudEvent {
  specversion: '1.0';
  /** Unique: the id of the request that caused the event. */
  id: string;
  /** `/workspaces/{workspace}` */
  source: string;
  type: string;
  /**
   * `{kind}/{percent-encoded id}`; for a document, `document/{encounter}/{document}`; for readiness, `readiness/{encounter}`, or
   * `readiness` if it concerns the workspace.
   */
  subject: string;
  /** When the log recorded it, ISO 8601 in UTC. */
  time: string;
  datacontenttype: 'application/json';
  /** Absolute URI of the JSON Schema of `data`; absent if the service's address is unknown. */
  dataschema?: string;
  /** The event's position: sorts as text in log order. */
  sequence: string;
  /** The trace that the request was part of (CloudEvents' distributed tracing extension). */
  traceparent?: string;
  /** The epoch of the key for the hashes, in the de-identified view: 2, 3, 4 …; absent while the first one is in use. */
  pseudonymepoch?: number;
  /** In the de-identified view, how the data is de-identified; absent for Safe Harbor. */
  deidentification?: DeidentificationMethod;
  data: EventStreamData;
}

/** A CloudEvent without its data. */
type CloudEventEnvelope = Omit<CloudEvent, 'data'>;

/**
 * Returns the envelope of an event at the current schema version, of one of the `feedEventTypes`; `address` is the service's
 * address as known to the subscriber.
 */
export function toEnvelope(event: RecordedEvent, address: string | undefined): CloudEventEnvelope {
  const { kind, type } = feedEventType(event) as StreamedEventType;
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
 * Returns the event as subscribers see it, at the current schema version; `recorded` is one of the `feedEventTypes`, `address`
 * the service's address as known to the subscriber.
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
 * Returns what subscribers see as sent by an event at the current schema version: where the store keeps the bytes of a document
 * is internal to the service, and for an erasure the ids are shown.
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

const encounter_id = encounter.schema.shape.id;
const kinds = catalog.map((entry) => entry.kind);
const version = z.int().min(1);

const usedVersion = z.object({
  part: z.enum(claimParts).meta({ description: 'The role of the record in the claim' }),
  kind: z.enum(kinds),
  id: z.string(),
  version,
});
const versions = z
  .array(usedVersion)
  .meta({ description: 'The versions of the records that the claim is based on' });

const state = z.enum(readinessStates);
const foundBy = z
  .array(z.string().regex(/^[a-z_]+$/))
  .meta({ description: 'The rules with findings', examples: [['payer_code_missing']] });
const cause = z
  .object({
    event_id: z.string(),
    kind: z.enum([...kinds, 'document', 'readiness']),
    id: z.string(),
    version,
  })
  .meta({
    description:
      'The write that caused it (`readiness`: that the encounter was billed); omitted if a finding began ' +
      'or ended without a write',
  });

const count = z.int().min(0).optional();
const countsShape = {
  ready: count,
  self_pay: count,
  blocked: count,
  rejected: count,
  not_completed: count,
  voided: count,
} satisfies Record<(typeof readinessStates)[number], z.ZodType>;
const counts = (description: string) =>
  z.object(countsShape).meta({ description, examples: [{ ready: 118, blocked: 4 }] });
const before = counts(
  'Encounters of the workspace in each state before the change; states without any may be omitted',
);
const after = counts('The same after all encounters were reevaluated');

const claimId = identifier("The caller's id for the claim that was sent", 'claim-7001');
const outcomeSource = z
  .enum(outcomeSources)
  .meta({ description: 'The X12 transaction that it comes from, or `other`' });
const claimOutcome = z.enum(claimOutcomes).meta({
  description: '`rejected`: the payer has not taken the claim in; `denied`: the payer does not pay it',
});
const answerGiven = z.enum(findingAnswers);
const faultyRecord = z
  .object({ kind: z.enum(kinds), id: z.string(), version })
  .meta({ description: 'The record at fault, in the version that was evaluated' });

/** The data of readiness events. */
export const readinessSchemas = {
  EncounterBilled: z.object({
    encounter_id,
    claim_id: claimId,
    versions,
  }),
  BillingChangeAcknowledged: z.object({
    encounter_id,
    reason: z.string().meta({ description: 'Why no new claim is sent', examples: ['Accepted as it was'] }),
    versions,
  }),
  FindingAnswered: z.object({
    encounter_id,
    rule: z.string().meta({ description: 'The rule that found it', examples: ['zip_of_other_state'] }),
    record: faultyRecord,
    answer: answerGiven.meta({
      description:
        '`accepted`: it no longer blocks; `assigned`, `noted`, `snoozed`: no effect on the state; ' +
        '`reopened`: it is no longer accepted or snoozed',
    }),
    reason: z.string().optional().meta({ description: 'Why it is accepted' }),
    until: z
      .string()
      .optional()
      .meta({
        description: 'The last day, in the time zone of the workspace, for which it is accepted or snoozed',
        examples: ['2026-06-30'],
      }),
    assigned_to: z.string().nullable().optional().meta({ description: 'To whom; `null`: to nobody' }),
    note: z.string().optional().meta({ description: 'The note' }),
  }),
  ClaimOutcomeReported: z.object({
    encounter_id,
    claim_id: claimId,
    source: outcomeSource,
    outcome: claimOutcome,
    statuses: z
      .array(z.object({ category: z.string(), code: z.string(), entity: z.string().optional() }))
      .optional()
      .meta({ description: 'The status codes of a 277CA, as sent' }),
    adjustments: z
      .array(z.object({ group: z.string(), code: z.string() }))
      .optional()
      .meta({ description: 'The groups and reason codes of an 835, as sent' }),
    remarks: z.array(z.string()).optional().meta({ description: 'The remark codes of an 835, as sent' }),
    payer_claim_number: z
      .string()
      .optional()
      .meta({ description: 'The number that the payer gave the claim' }),
  }),
  EncounterReadinessChanged: z.object({
    encounter_id,
    from: state.optional().meta({ description: 'Omitted if nothing was reported for the encounter before' }),
    to: state,
    rules: foundBy,
    cause: cause.optional(),
    rules_version: z.string().meta({
      description: 'Changes when the rules, or the rule settings of the workspace, change',
      examples: ['readiness_v2.44136fa355b3'],
    }),
  }),
  ReadinessErased: z.object({ encounter_id }),
  ReadinessRulesApplied: z.object({
    cause: z.string().meta({ description: 'Id of the event that changed the basis of the rules' }),
    before,
    after,
  }),
};

/** Returns what is shown, with hashes for ids, of an object or list described by `from`; any other value is omitted. */
function shownAs<Sent>(
  from: z.ZodType<Sent>,
  schema: z.ZodType,
  show: (sent: Sent, pseudonym: (kind: string, id: string) => string) => unknown,
): Rule {
  return {
    schema: schema.meta({ description: `${from.meta()?.description}. Ids are keyed hashes` }),
    show(value, { pseudonym }) {
      const { data } = from.safeParse(value);
      return data === undefined ? undefined : show(data, pseudonym);
    },
  };
}

const hashedVersions = shownAs(
  versions,
  z.array(usedVersion.extend({ id: pseudonymSchema }).strict()),
  (used, pseudonym) => used.map((one) => ({ ...one, id: pseudonym(one.kind, one.id) })),
);
const hashedRecord = shownAs(
  faultyRecord,
  faultyRecord.extend({ id: pseudonymSchema }).strict(),
  ({ kind, id, version }, pseudonym) => ({ kind, id: pseudonym(kind, id), version }),
);
const hashedCause = shownAs(
  cause,
  cause.extend({ event_id: pseudonymSchema, id: pseudonymSchema }).strict(),
  ({ event_id, kind, id, version }, pseudonym) => ({
    ...{ event_id: pseudonym('event', event_id), kind, version },
    id: pseudonym(kind === 'readiness' ? encounter.kind : kind, id),
  }),
);

/** What the de-identified view shows of them, by type in the log. */
export const readinessRules: ReadonlyMap<string, FieldRules> = new Map(
  Object.entries({
    EncounterBilled: { encounter_id: hashed('encounter'), claim_id: 'left out', versions: hashedVersions },
    BillingChangeAcknowledged: {
      encounter_id: hashed('encounter'),
      reason: 'left out',
      versions: hashedVersions,
    },
    FindingAnswered: {
      encounter_id: hashed('encounter'),
      rule: 'left out',
      record: hashedRecord,
      answer: listed(answerGiven),
      reason: 'left out',
      until: 'left out',
      assigned_to: 'left out',
      note: 'left out',
    },
    ClaimOutcomeReported: {
      encounter_id: hashed('encounter'),
      claim_id: 'left out',
      source: listed(outcomeSource),
      outcome: listed(claimOutcome),
      statuses: 'left out',
      adjustments: 'left out',
      remarks: 'left out',
      payer_claim_number: 'left out',
    },
    EncounterReadinessChanged: {
      encounter_id: hashed('encounter'),
      from: listed(state),
      to: listed(state),
      rules: listed(foundBy),
      cause: hashedCause,
      rules_version: 'left out',
    },
    ReadinessErased: { encounter_id: hashed('encounter') },
    ReadinessRulesApplied: {
      cause: hashed('event'),
      before: listed(before.strict().meta(before.meta() ?? {})),
      after: listed(after.strict().meta(after.meta() ?? {})),
    },
  } satisfies {
    [Type in keyof typeof readinessSchemas]: Record<
      keyof (typeof readinessSchemas)[Type]['shape'],
      FieldRules[string]
    >;
  }),
);

/** What happens to events that changed no field of their record. */
export const unchangedEvents = ['skip', 'send'] as const;
export type UnchangedEvents = (typeof unchangedEvents)[number];

/** The views of the events. */
export const eventViews = ['full', ...narrowedViews] as const;
export type EventView = (typeof eventViews)[number];

/** Which events a subscriber receives, and in which form; equal selections share their bytes. */
export interface Selection {
  workspace: string;
  view: EventView;
  /** Types of events, named as in `StreamedEventType`, in the order of `feedEventTypes`. */
  eventTypes: string[];
  /** `skip`: omits those that changed no field of their record (`isUnchanged`). */
  unchanged: UnchangedEvents;
  /** `sse`: frames of server-sent events; `ndjson`: one line per event. */
  format: 'sse' | 'ndjson';
  /** The service's address as known to the subscriber: `https://chartledger.example.com`. */
  address: string;
}

/** Restricts the log to where a selection's events are; this includes some that it does not want. */
export function logFilter({
  workspace,
  eventTypes,
}: Pick<Selection, 'workspace' | 'eventTypes'>): EventFilter {
  if (eventTypes.length === feedEventTypes.length) return { streamPrefixes: [`${workspace}.`] };
  const prefixOf = (kind: string) =>
    // Besides the streams of the encounters, there is the workspace's own.
    kind === 'readiness' ? readinessStream(workspace) : `${workspace}.${kind}-`;
  return { streamPrefixes: [...kindsOf(eventTypes)].map(prefixOf) };
}

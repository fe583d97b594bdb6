import type { FieldFault } from '../records/schema/faults.ts';
import { dataAs, type ErasedEvent, type EventMetadata, type Position, type RecordedEvent } from './event.ts';

/** Why protected data are disclosed. Accountings of disclosures exclude the first three (45 CFR 164.528(a)(1)(i)). */
export const purposes = ['treatment', 'payment', 'operations', 'other'] as const;
export type Purpose = (typeof purposes)[number];

/** The recipient and purpose of disclosed data, as stated for a key, a webhook or an export; what was not stated is left out. */
export interface DisclosureTerms {
  /** Name of the organization or person. */
  recipient?: string | undefined;
  recipient_address?: string | undefined;
  purpose?: Purpose | undefined;
  /** A sentence that tells the patient the basis of the disclosure. */
  purpose_statement?: string | undefined;
}

export const termNames = [
  'recipient',
  'recipient_address',
  'purpose',
  'purpose_statement',
] as const satisfies (keyof DisclosureTerms)[];

/** Terms in which those not given, or withdrawn, are `null`. */
export type NullableTerms = { [Name in keyof DisclosureTerms]?: DisclosureTerms[Name] | null };

/** Returns the terms among the given fields, omitting those not set; undefined if none is set. */
export function termsOf(fields: NullableTerms): DisclosureTerms | undefined {
  const given = termNames.flatMap((name) => {
    const value = fields[name];
    return value === undefined || value === null ? [] : [[name, value]];
  });
  return given.length === 0 ? undefined : Object.fromEntries(given);
}

/** Returns all terms from validated fields, with `null` for those that are missing or blank. */
export function everyTerm({ recipient, recipient_address, purpose, purpose_statement }: NullableTerms) {
  return {
    recipient: recipient?.trim() || null,
    recipient_address: recipient_address?.trim() || null,
    purpose: purpose ?? null,
    purpose_statement: purpose_statement?.trim() || null,
  };
}

/** Types of the events that replace what was erased of a record, or of what goes with one: its tombstones. */
export const RECORD_ERASED = 'RecordErased';
export const DOCUMENT_ERASED = 'DocumentErased';
export const READINESS_ERASED = 'ReadinessErased';
export const DISCLOSURES_ERASED = 'DisclosuresErased';
export const tombstoneTypes: readonly string[] = [
  RECORD_ERASED,
  DOCUMENT_ERASED,
  READINESS_ERASED,
  DISCLOSURES_ERASED,
];

/** Returns the tombstone type for streams of a kind. */
export function tombstoneType(kind: string): string {
  if (kind === 'document') return DOCUMENT_ERASED;
  if (kind === 'disclosures') return DISCLOSURES_ERASED;
  return kind === 'readiness' ? READINESS_ERASED : RECORD_ERASED;
}

/** The principal that restores a record that was under legal hold when its tombstone was appended. */
export const restorer = { type: 'service', id: 'legal-hold' } as const;

/** Whether an event restores a record because the erasure with that id came too late. */
export function isRestoring({ metadata }: Pick<RecordedEvent, 'metadata'>, erasureId: string): boolean {
  const { principal, requestId } = metadata;
  return requestId === erasureId && principal.type === restorer.type && principal.id === restorer.id;
}

/**
 * Who wrote an event, when, and its type: what the audit trail still shows after the event is erased. Contains nothing of the
 * event's contents.
 */
export interface Written
  extends Pick<RecordedEvent, 'type' | 'recordedAt'>,
    Pick<
      EventMetadata,
      'principal' | 'requestId' | 'clientIp' | 'userAgent' | 'clientRequestId' | 'traceparent'
    > {}

/** Returns what remains of an event when it is erased. */
export function writtenOf({ type, recordedAt, metadata }: RecordedEvent): Written {
  const { principal, requestId, clientIp, userAgent, clientRequestId, traceparent } = metadata;
  return {
    type,
    recordedAt,
    principal,
    requestId,
    ...(clientIp !== undefined && { clientIp }),
    ...(userAgent !== undefined && { userAgent }),
    ...(clientRequestId !== undefined && { clientRequestId }),
    ...(traceparent !== undefined && { traceparent }),
  };
}

/** An erased version: the place of its event, and the event's leaf, which reveals nothing of its contents. */
export interface ErasedVersion {
  version: number;
  position: Position;
  event_id: string;
  /** As `eventLeaf` computes it. */
  leaf: string;
  /** Absent in tombstones of earlier versions of the service. */
  written?: Written;
}

/** What a tombstone says about an event that it lists. */
export interface ListedEvent extends Pick<RecordErased, 'kind' | 'record_id' | 'document_id'> {
  written: Written;
}

/** An earlier erasure of the same stream; its own tombstones are among the erased versions. */
export interface EarlierErasure {
  erasure_id: string;
  reason: string;
  /** When its first tombstone was recorded, ISO 8601, UTC. */
  erased_at: string;
  principal: RecordedEvent['metadata']['principal'];
  /** How many versions its tombstones list. */
  versions: number;
}

/**
 * Data of a tombstone. The tombstones of an erasure are consecutive in the stream; together they list all versions before the
 * first of them, including those of earlier erasures.
 */
export interface RecordErased {
  /** The request that asked for it; the same in all tombstones of an erasure. */
  erasure_id: string;
  /** As in the stream's name. */
  kind: string;
  /** For an encounter's billing: the encounter's id; for what was stated about disclosures: the patient's. */
  record_id: string;
  /** For a document; `record_id` is then its encounter's. */
  document_id?: string;
  reason: string;
  /** For a patient: patients merged into it, and the encounters that refer to any of them, are erased too. */
  with_encounters?: true;
  /** For an encounter, or a merged patient: erased because its patient is erased together with its encounters. */
  with_patient?: true;
  /** With `with_patient`: the patient that was named in the request. */
  patient_id?: string;
  /**
   * For a record that referred to patients: their ids, so that disclosure reports still find it; each in the part that lists the
   * first version that referred to it.
   */
  patient_ids?: string[];
  /** This is part number `part`, counted from 1, of `parts`. */
  part: number;
  parts: number;
  erased: ErasedVersion[];
  /** In the first part only, oldest first. */
  earlier?: EarlierErasure[];
}

/** Returns the places of the events that a tombstone lists. */
export function placesListedIn({ stream, data }: Pick<RecordedEvent, 'stream' | 'data'>): ErasedEvent[] {
  return dataAs<RecordErased>(data).erased.map(({ version, position, event_id: id, leaf }) => ({
    ...{ id, stream, revision: version - 1, position, leaf },
  }));
}

/**
 * The effect of an event on the state of its stream: the last tombstone of an erasure erases everything before it; the tombstones
 * before it only list what will be erased if the last one follows. Undefined for any other event.
 */
export function erasureStep({
  type,
  data,
}: Pick<RecordedEvent, 'type' | 'data'>): 'begun' | 'done' | undefined {
  if (!tombstoneTypes.includes(type)) return undefined;
  return data.part === data.parts ? 'done' : 'begun';
}

/**
 * The same where a stream is folded, given the version before the event; 0 is before the first. Events are removed only once the
 * last tombstone is in the log: where some before a tombstone are gone, the record is erased, whichever of the tombstones this is.
 */
export function erasureStepAfter(version: number, event: RecordedEvent): 'begun' | 'done' | undefined {
  const step = erasureStep(event);
  return step && version !== event.revision ? 'done' : step;
}

/** A refused line of a batch. */
export interface RefusedLine {
  /** Counted from 1. */
  line: number;
  /** The kind and the id of its record, as far as it names them. */
  kind?: string;
  record_id?: string;
  code: string;
  faults?: FieldFault[];
}

/** What was refused of a batch. */
export interface RefusedLines {
  /** How many lines the batch had. */
  sent: number;
  /** How many of them were refused, by code. */
  refused: Record<string, number>;
  /**
   * How many had an error in this field, by its name, as in the `fields` of an `AccessRecorded`; only the 20 most frequent
   * fields.
   */
  fields?: Record<string, number>;
  /** The first of them. */
  first?: RefusedLine[];
}

/** Positions in the log from `from` to `to`, both inclusive. */
export interface PositionRange {
  from: Position;
  to: Position;
}

/** A record or document that was shown, by its ids. */
export interface DisclosedRecord {
  kind: string;
  /** The caller's id; for a document, that of its encounter. */
  record_id: string;
  document_id?: string;
}

/** What left the service, in terms of the log: lets the audit trail tell who has seen a record. */
export interface DisclosedRange {
  /**
   * Its places in the log, ascending: for events, those that were sent; for a list, each record's first event. Others of the kind
   * between them may not have been shown.
   */
  ranges: PositionRange[];
  /** Number of events or records; absent if not counted. */
  count?: number;
  /** Set if only events of these types, as named in the log, were sent. */
  event_types?: string[];
  /** What was shown, by id; there are no ranges then. */
  things?: DisclosedRecord[];
  /** Which view of the events was sent; absent for the full events. */
  view?: 'reference' | 'limited' | 'deidentified';
}

/** Returns the ranges with one added, ascending and disjoint; if that makes more than `most`, the closest ones are merged. */
export function withRange(
  ranges: readonly PositionRange[],
  added: PositionRange,
  most: number,
): PositionRange[] {
  const apart: PositionRange[] = [];
  for (const range of [...ranges, added].toSorted((a, b) => a.from - b.from)) {
    const last = apart.at(-1);
    if (last && range.from <= last.to + 1) last.to = Math.max(last.to, range.to);
    else apart.push({ ...range });
  }
  if (apart.length <= most) return apart;
  const gaps = apart.slice(1).map(({ from }, index) => from - (apart[index] as PositionRange).to);
  const closest = gaps.indexOf(Math.min(...gaps));
  const [first, second] = apart.splice(closest, 2) as [PositionRange, PositionRange];
  apart.splice(closest, 0, { from: first.from, to: second.to });
  return apart;
}

/** How data were disclosed other than by the service. */
export const disclosureMeans = ['telephone', 'fax', 'mail', 'paper', 'email', 'in_person', 'other'] as const;

/** Data of `DisclosureAdded`: a disclosure of a patient's data that the service did not make. */
export interface DisclosureAdded extends DisclosureTerms {
  patient_id: string;
  /** A date or date-time, as sent. */
  disclosed_at: string;
  means: (typeof disclosureMeans)[number];
  /** What was disclosed, in words. */
  description: string;
  recipient: string;
}

/** Data of `DisclosurePurposeStated`: the purpose of a disclosure of a patient's data for which none was given. */
export interface DisclosurePurposeStated extends Pick<DisclosureTerms, 'purpose' | 'purpose_statement'> {
  patient_id: string;
  /** The entry of the audit trail. */
  event_id: string;
}

/** Types of the events in a `disclosuresStream`, other than its tombstones. */
export const disclosureTypes: readonly string[] = ['DisclosureAdded', 'DisclosurePurposeStated'];

import type { Position, RecordedEvent } from './event.ts';
import type { EventMetadata } from './eventMetadata.ts';

/**
 * Types of the events that stand for what was erased of a record, of a document, and of what became of an encounter in billing: its
 * tombstones.
 */
export const RECORD_ERASED = 'RecordErased';
export const DOCUMENT_ERASED = 'DocumentErased';
export const READINESS_ERASED = 'ReadinessErased';
export const tombstoneTypes: readonly string[] = [RECORD_ERASED, DOCUMENT_ERASED, READINESS_ERASED];

/** The type of the tombstones of what stands in streams of a kind. */
export function tombstoneType(kind: string): string {
  if (kind === 'document') return DOCUMENT_ERASED;
  return kind === 'readiness' ? READINESS_ERASED : RECORD_ERASED;
}

/** Who restores a record that was under legal hold when its tombstone came. */
export const restorer = { type: 'service', id: 'legal-hold' } as const;

/** Whether an event restores a record for which the erasure of that id came too late. */
export function isRestoring({ metadata }: RecordedEvent, erasureId: string): boolean {
  const { principal, requestId } = metadata;
  return requestId === erasureId && principal.type === restorer.type && principal.id === restorer.id;
}

/**
 * Who wrote an event, when, and of which type it was: what the audit trail goes on telling when the event is erased. It holds nothing of what
 * the event said.
 */
export interface Written
  extends Pick<RecordedEvent, 'type' | 'recordedAt'>,
    Pick<
      EventMetadata,
      'principal' | 'requestId' | 'clientIp' | 'userAgent' | 'clientRequestId' | 'traceparent'
    > {}

/** What of an event stays when it is erased. */
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

/** A version that was erased: where its event stood, and the leaf of it, which tells nothing of what it said. */
export interface ErasedVersion {
  version: number;
  position: Position;
  event_id: string;
  /** As `eventLeaf` computes it. */
  leaf: string;
  /** Tombstones of earlier versions of the service lack it. */
  written?: Written;
}

/** What a tombstone says of an event that it lists. */
export interface ListedEvent extends Pick<RecordErased, 'kind' | 'record_id' | 'document_id'> {
  written: Written;
}

/** An erasure of the same stream that came before; its own tombstones are among the erased versions. */
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
 * Data of a tombstone. The tombstones of an erasure stand one behind the other in the stream; all versions before the
 * first of them are listed in them together, those of earlier erasures included.
 */
export interface RecordErased {
  /** The request that asked for it; the same in all tombstones of an erasure. */
  erasure_id: string;
  /** As in the name of the stream. */
  kind: string;
  /** Of what became of an encounter in billing, the encounter's. */
  record_id: string;
  /** Of a document, whose `record_id` is its encounter's. */
  document_id?: string;
  reason: string;
  /** Of a patient: who was merged into it, and the encounters that refer to any of these, are erased, too. */
  with_encounters?: true;
  /** Of an encounter, or a patient who was merged: it is erased because its patient is, with its encounters. */
  with_patient?: true;
  /**
   * Of a record that referred to patients: their ids, so that reports of disclosures still find it; each in the part that
   * lists the first version which referred to it.
   */
  patient_ids?: string[];
  /** This is part number `part`, counted from 1, of `parts`. */
  part: number;
  parts: number;
  erased: ErasedVersion[];
  /** In the first part alone, oldest first. */
  earlier?: EarlierErasure[];
}

/**
 * What an event means for the state of its stream: with the last tombstone of an erasure all that stood before is erased;
 * those before it only list what is to be erased, should the last one come. Undefined for any other event.
 */
export function erasureStep({
  type,
  data,
}: Pick<RecordedEvent, 'type' | 'data'>): 'begun' | 'done' | undefined {
  if (!tombstoneTypes.includes(type)) return undefined;
  return data.part === data.parts ? 'done' : 'begun';
}

import type { Position, RecordedEvent } from './event.ts';

/** Type of the events that stand for what was erased of a record or document: its tombstones. */
export const RECORD_ERASED = 'RecordErased';

/** A version that was erased: where its event stood, and the leaf of it, which tells nothing of what it said. */
export interface ErasedVersion {
  version: number;
  position: Position;
  event_id: string;
  /** As `eventLeaf` computes it. */
  leaf: string;
}

/** An erasure of the same stream that came before; its own tombstones are among the erased versions. */
export interface EarlierErasure {
  erasure_id: string;
  reason: string;
  /** When its first tombstone was recorded, ISO 8601, UTC. */
  erased_at: string;
  principal: RecordedEvent['metadata']['principal'];
  /** How many versions it erased. */
  versions: number;
}

/**
 * Data of `RecordErased`. The tombstones of an erasure stand one behind the other in the stream; all versions before the
 * first of them are listed in them together, those of earlier erasures included.
 */
export interface RecordErased {
  /** The request that asked for it; the same in all tombstones of an erasure. */
  erasure_id: string;
  kind: string;
  record_id: string;
  /** Of a document, whose `record_id` is its encounter's. */
  document_id?: string;
  reason: string;
  /** This is part number `part`, counted from 1, of `parts`. */
  part: number;
  parts: number;
  erased: ErasedVersion[];
  /** In the first part alone, oldest first. */
  earlier?: EarlierErasure[];
}

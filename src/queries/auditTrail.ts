import {
  type AuditChunk,
  type AuditHead,
  type AuditIndex,
  auditModel,
  chunkId,
  ENTRIES_A_CHUNK,
  indexPartition,
  newestFirst,
} from '../../projections/audit.ts';
import type { AuditEntry } from '../../projections/auditEntry.ts';
import { type AuditFacetValues, auditFacets, hasFacets, signatureTest } from '../../projections/auditSignature.ts';
import { unavailable } from '../errors.ts';
import type { ReadModels, Row } from '../ports/readModels.ts';
import { caughtUp, decodeToken, encodeToken, type Page, type PageRequest } from './page.ts';
import type { QueryPorts } from './readRecord.ts';

/** Which entries are wanted; what is left out may be any. */
export interface AuditFilter extends AuditFacetValues {
  /** Recorded at or after this; ISO 8601, UTC, to the millisecond. Should a clock go back, entries count to the latest time. */
  from?: string;
  /** Recorded before this. */
  to?: string;
}

export interface AuditPage extends Page<AuditEntry> {
  /** When the oldest entry that was looked at was recorded; null when there was none. */
  lookedBackTo: string | null;
}

/** Index rows that one page looks at: those of 131,072 entries. */
const MAX_INDEX_ROWS = 2_048;
const INDEX_ROWS_AT_ONCE = 256;
const CHUNKS_AT_ONCE = 4;

/**
 * One page of a workspace's audit trail, newest first, including every event acknowledged before the call: it waits
 * for the projector, and rejects with `unavailable` when that is more than two seconds behind.
 *
 * Its work is bounded, however long the trail is: where nothing matches for long it comes back with less than was asked
 * for, even nothing, and a token to go on with. Tokens are places in the trail, so that pages neither skip nor repeat
 * an entry while others are added.
 */
export async function readAuditTrail(
  ports: QueryPorts,
  workspace: string,
  filter: AuditFilter,
  request: PageRequest,
): Promise<AuditPage> {
  const before = request.pageToken === undefined ? undefined : decodeToken(request.pageToken);
  await caughtUp(ports, auditModel);
  return readBack(ports.readModels, workspace, filter, request.limit, before);
}

/** A part of the trail's entries, the last of which has number `last`. */
interface Part {
  entries: AuditEntry[];
}

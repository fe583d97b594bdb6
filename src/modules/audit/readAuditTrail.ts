import { auditModel } from '../../../projections/audit.ts';
import type { AuditEntry } from '../../../projections/auditEntry.ts';
import { type AuditFacetValues, hasFacets } from '../../../projections/auditSignature.ts';
import { validationError } from '../../domain/records/schema/validate.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import {
  caughtUp,
  decodeToken,
  encodeToken,
  type Page,
  type PageRequest,
  type TokenScope,
} from '../records/queries/page.ts';
import type { QueryPorts } from '../records/queries/readRecord.ts';
import { type AuditPart, auditParts, loadHead } from './auditParts.ts';
import type { Sightings } from './Sightings.ts';

/** Which entries are wanted; any if omitted. Times are ISO 8601, UTC, to the millisecond. */
export interface AuditFilter extends AuditFacetValues {
  /** Recorded at or after this. */
  from?: string;
  /** Recorded before this. */
  to?: string;
  /** Accesses by which somebody saw one of these, or may have; including those to other things that contained it. */
  seen?: Sightings;
  /** An additional condition on entries. */
  isWanted?(entry: AuditEntry): boolean;
  /** By what `seen` and `isWanted` select: page tokens are bound to it, as to all the other limits. */
  scope?: TokenScope;
}

export interface AuditPage extends Page<AuditEntry> {
  /** When the oldest entry examined was recorded; null when there was none. */
  lookedBackTo: string | null;
}

/** Number of chunks that one page looks up in the index: those of 131,072 entries. */
const MAX_CHUNKS = 2_048;
const EXPORTED_AT_ONCE = 1_000;

/**
 * Returns one page of a workspace's audit trail, newest first, including every event acknowledged before the call: it waits for
 * the projector, and rejects with `unavailable` when that is more than two seconds behind.
 *
 * Its work is bounded, however long the trail is: when little matches it returns less than was requested, even nothing, and a
 * token to continue with. Tokens are places in the trail, so that pages neither skip nor repeat an entry while others are added.
 */
export async function readAuditTrail(
  ports: QueryPorts,
  workspace: string,
  filter: AuditFilter,
  { limit, pageToken }: PageRequest,
): Promise<AuditPage> {
  const { seen: _seen, ...limits } = filter;
  const scope = [auditModel, workspace, limits];
  const below = pageToken === undefined ? undefined : decodeToken(pageToken, scope);
  await caughtUp(ports, auditModel);
  if (below !== undefined) await requirePlace(ports, workspace, below);
  const { items, lookedBackTo, next } = await readBack(ports.readModels, workspace, filter, limit, below);
  return { items, lookedBackTo, next_page_token: next === undefined ? null : encodeToken(next, scope) };
}

/** Rejects with `validation_failed` when the trail has no such place: it is that of another log, or of a later state of this one. */
async function requirePlace(ports: QueryPorts, workspace: string, below: number): Promise<void> {
  const isBeyond = async () => below > ((await loadHead(ports.readModels, workspace))?.size ?? 0);
  if (!(await isBeyond())) return;
  // A read model that is being rebuilt is behind the log.
  await caughtUp(ports, auditModel);
  if (await isBeyond())
    throw validationError([
      { field: 'page_token', message: 'is beyond the audit trail: begin with the first page' },
    ]);
}

/**
 * Returns the whole audit trail as it is at the call, newest first, several entries at a time. Rejects as a page does, before
 * there is anything to iterate over.
 */
export async function wholeAuditTrail(
  ports: QueryPorts,
  workspace: string,
  filter: AuditFilter,
): Promise<AsyncGenerator<AuditEntry[], void>> {
  const end = await caughtUp(ports, auditModel);
  const { isWanted = () => true } = filter;
  return allPages(ports.readModels, workspace, {
    ...filter,
    isWanted: (entry) => entry.position <= end && isWanted(entry),
  });
}

async function* allPages(
  readModels: ReadModels,
  workspace: string,
  filter: AuditFilter,
): AsyncGenerator<AuditEntry[], void> {
  for (let below: number | undefined; ; ) {
    const page = await readBack(readModels, workspace, filter, EXPORTED_AT_ONCE, below);
    yield page.items;
    if (page.next === undefined) return;
    below = page.next;
  }
}

/** Examines the entries with numbers below `below`, or all of them, from the newest on. */
async function readBack(
  readModels: ReadModels,
  workspace: string,
  filter: AuditFilter,
  limit: number,
  below: number | undefined,
): Promise<Omit<AuditPage, 'next_page_token'> & { next: number | undefined }> {
  const found: NumberedEntry[] = [];
  let next = 0;
  let lookedBackTo: string | null = null;
  let chunks = 0;
  for await (const part of auditParts(readModels, workspace, filter, below)) {
    found.push(...matching(part, filter).filter(({ number }) => below === undefined || number < below));
    lookedBackTo = part.from;
    next = part.first;
    if (filter.from !== undefined && part.from < filter.from) next = 0;
    chunks += part.chunks;
    if (next === 0 || found.length > limit || chunks >= MAX_CHUNKS) break;
  }
  const items = found.slice(0, limit);
  const goOn = found.length > limit ? (items.at(-1) as NumberedEntry).number : next;
  return {
    items: items.map(({ entry }) => entry),
    next: goOn === 0 ? undefined : goOn,
    lookedBackTo,
  };
}

interface NumberedEntry {
  entry: AuditEntry;
  number: number;
}

/** Returns the matching entries of a part, newest first. */
function matching({ first, entries }: AuditPart, filter: AuditFilter): NumberedEntry[] {
  const found: NumberedEntry[] = [];
  for (const [at, entry] of entries.entries()) {
    if (filter.from !== undefined && entry.recordedAt < filter.from) continue;
    if (filter.to !== undefined && entry.recordedAt >= filter.to) continue;
    if (filter.isWanted && !filter.isWanted(entry)) continue;
    if (filter.seen && !filter.seen.has(entry)) continue;
    if (hasFacets(entry, filter)) found.push({ entry, number: first + at });
  }
  return found.reverse();
}

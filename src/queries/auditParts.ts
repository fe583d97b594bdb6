import {
  type AuditChunk,
  type AuditHead,
  type AuditIndex,
  auditModel,
  chunkId,
  ENTRIES_A_CHUNK,
  indexPartition,
  laterOf,
  newestFirst,
} from '../../projections/audit.ts';
import type { AuditEntry } from '../../projections/auditEntry.ts';
import { type AuditFacetValues, auditFacets, signatureTest } from '../../projections/auditSignature.ts';
import { unavailable } from '../errors.ts';
import type { ReadModels } from '../ports/readModels.ts';

const INDEX_ROWS_AT_ONCE = 256;
const CHUNKS_AT_ONCE = 16;

/** A chunk of a workspace's audit trail, or what does not fill one yet. */
export interface AuditPart {
  /** Number of its first entry. */
  first: number;
  /** The latest time up to its first entry, ISO 8601: it never goes back from part to part. */
  from: string;
  /** In log order; left out where none can match. */
  entries: AuditEntry[];
}

/** What may match of a workspace's audit trail, newest part first, from the entry of number `below - 1` on. */
export async function* auditParts(
  readModels: ReadModels,
  workspace: string,
  filter: AuditFacetValues & { to?: string },
  below: number | undefined,
): AsyncGenerator<AuditPart> {
  const head = await loadHead(readModels, workspace);
  // The read model has been taken away since the page before, and is not whole again.
  if (below !== undefined && below > (head?.size ?? 0)) throw unavailable('audit trail');
  if (head === undefined) return;
  const chunks = (head.size - head.entries.length) / ENTRIES_A_CHUNK;
  const oldestPending = head.entries[0];
  if (oldestPending && (below === undefined || below > chunks * ENTRIES_A_CHUNK)) {
    const from = laterOf(head.latest, oldestPending.recordedAt);
    yield { first: chunks * ENTRIES_A_CHUNK, from, entries: head.entries };
  }
  let next = below === undefined ? chunks : Math.min(chunks, Math.ceil(below / ENTRIES_A_CHUNK));
  // A later page begins where the earlier one ended, which was before that time already.
  if (below === undefined && filter.to !== undefined) {
    next = await chunksBefore(readModels, workspace, chunks, filter.to);
  }
  for (let indexRows = 8; next > 0; indexRows = Math.min(2 * indexRows, INDEX_ROWS_AT_ONCE)) {
    const indexes = await loadIndexes(readModels, workspace, next, Math.min(indexRows, next));
    yield* partsOf(readModels, workspace, filter, indexes);
    next -= indexes.length;
  }
}

/** A workspace's head row; undefined without any entry. */
export async function loadHead(readModels: ReadModels, workspace: string): Promise<AuditHead | undefined> {
  const [row] = await readModels.load(auditModel, [workspace]);
  return row?.body as AuditHead | undefined;
}

interface NumberedIndex {
  number: number;
  index: AuditIndex;
}

/** The index rows of so many chunks below a number, newest first. */
async function loadIndexes(
  readModels: ReadModels,
  workspace: string,
  below: number,
  limit: number,
): Promise<NumberedIndex[]> {
  const query = { partition: indexPartition(workspace), after: newestFirst(below), limit };
  const rows = await readModels.page(auditModel, query);
  if (rows.length < limit) throw unavailable('audit trail');
  return rows.map(({ order, body }) => ({
    number: newestFirst(order),
    index: body as unknown as AuditIndex,
  }));
}

/** How many of the first `chunks` chunks begin before a time. */
async function chunksBefore(
  readModels: ReadModels,
  workspace: string,
  chunks: number,
  time: string,
): Promise<number> {
  let [low, high] = [0, chunks];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [found] = await loadIndexes(readModels, workspace, middle + 1, 1);
    if (found && found.index.from < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

async function* partsOf(
  readModels: ReadModels,
  workspace: string,
  filter: AuditFacetValues,
  indexes: NumberedIndex[],
): AsyncGenerator<AuditPart> {
  const isFiltered = auditFacets.some((facet) => filter[facet] !== undefined);
  const mayMatch = signatureTest(filter);
  const candidates = indexes
    .filter(({ index }) => !isFiltered || mayMatch(index.signatures))
    .map(({ number }) => number);
  const loaded = new Map<number, AuditEntry[]>();
  let atOnce = 1;
  for (const { number, index } of indexes) {
    if (candidates[0] === number) {
      const wanted = candidates.splice(0, atOnce);
      for (const [at, entries] of await loadChunks(readModels, workspace, wanted)) loaded.set(at, entries);
      atOnce = Math.min(2 * atOnce, CHUNKS_AT_ONCE);
    }
    yield { first: number * ENTRIES_A_CHUNK, from: index.from, entries: loaded.get(number) ?? [] };
    loaded.delete(number);
  }
}

async function loadChunks(
  readModels: ReadModels,
  workspace: string,
  numbers: number[],
): Promise<Map<number, AuditEntry[]>> {
  const ids = numbers.map((number) => chunkId(workspace, number));
  const rows = await readModels.load(auditModel, ids);
  if (rows.length < ids.length) throw unavailable('audit trail');
  return new Map(
    rows.map(({ order, body }) => [newestFirst(order), (body as unknown as AuditChunk).entries]),
  );
}

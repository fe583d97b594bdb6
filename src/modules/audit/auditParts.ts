import {
  type AuditChunk,
  type AuditHead,
  type AuditIndex,
  type AuditIndexRow,
  auditModel,
  CHUNKS_AN_INDEX,
  CLOCKS_APART_MS,
  chunkId,
  ENTRIES_A_CHUNK,
  indexPartition,
  lastSetBack,
} from '../../../projections/audit.ts';
import type { AuditEntry } from '../../../projections/auditEntry.ts';
import { type AuditFacetValues, signatureTest } from '../../../projections/auditSignature.ts';
import { newestFirst } from '../../../projections/newestFirst.ts';
import { laterTime } from '../../domain/events/laterTime.ts';
import { type ServiceError, unavailable } from '../../platform/errors.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import type { Sightings } from './Sightings.ts';

const INDEX_ROWS_AT_ONCE = 16;
const CHUNKS_AT_ONCE = 16;

/** A chunk of a workspace's audit trail, or the entries that do not fill one yet. */
export interface AuditPart {
  /** Number of its first entry. */
  first: number;
  /** The latest time up to its first entry, ISO 8601: it never decreases from part to part. */
  from: string;
  /** In log order; omitted when none can match. */
  entries: AuditEntry[];
  /** Number of chunks examined for it, including those just after it in which nothing can match. */
  chunks: number;
}

/** Which entries may match. */
type AuditPartFilter = AuditFacetValues & { to?: string; seen?: Sightings };

/** Yields what may match in a workspace's audit trail, newest part first, starting with entry number `below - 1`. */
export async function* auditParts(
  readModels: ReadModels,
  workspace: string,
  filter: AuditPartFilter,
  below: number | undefined,
): AsyncGenerator<AuditPart> {
  const head = await loadHead(readModels, workspace);
  // The read model was removed after the place was checked, and is not complete again.
  if (below !== undefined && below > (head?.size ?? 0)) throw unavailable('audit trail');
  if (head === undefined) return;
  const chunks = chunksOf(head);
  const oldestPending = head.entries[0];
  if (oldestPending && (below === undefined || below > chunks * ENTRIES_A_CHUNK)) {
    const from = laterTime(head.latest, oldestPending.recordedAt);
    yield { first: chunks * ENTRIES_A_CHUNK, from, entries: head.entries, chunks: 0 };
  }
  let next = below === undefined ? chunks : Math.min(chunks, Math.ceil(below / ENTRIES_A_CHUNK));
  // A later page begins where the previous one ended, which was already before that time.
  if (below === undefined && filter.to !== undefined) {
    const { setBack } = lastSetBack(head);
    const ordered = await chunksBefore(readModels, workspace, head, laterBy(filter.to));
    // Up to an entry of a clock that was set back, a later chunk may contain an earlier time.
    next = Math.min(
      chunks,
      Math.max(ordered, setBack ? Math.floor(setBack.number / ENTRIES_A_CHUNK) + 1 : 0),
    );
  }
  for await (const indexes of indexesBelow(readModels, workspace, head, next)) {
    yield* partsOf(readModels, workspace, filter, indexes);
  }
}

/** Returns the time before which all that is recorded before `time` counts as recorded, as long as no clock is set back. */
export function laterBy(time: string): string {
  return new Date(Date.parse(time) + CLOCKS_APART_MS).toISOString();
}

/** Returns a workspace's head row; undefined without any entries. */
export async function loadHead(readModels: ReadModels, workspace: string): Promise<AuditHead | undefined> {
  const [row] = await readModels.load(auditModel, [workspace]);
  return row?.body as AuditHead | undefined;
}

function incomplete(): ServiceError {
  const problem =
    'Rows of the audit trail are missing from the read models. If this lasts, run: chartledger projections rebuild audit';
  return unavailable('audit trail', undefined, problem);
}

interface NumberedIndex {
  number: number;
  index: AuditIndex;
}

/** Returns the number of chunks. */
function chunksOf({ size, entries }: AuditHead): number {
  return (size - entries.length) / ENTRIES_A_CHUNK;
}

/** Yields the indexes of the chunks with numbers below `below`, several at a time, newest first. */
async function* indexesBelow(
  readModels: ReadModels,
  workspace: string,
  head: AuditHead,
  below: number,
): AsyncGenerator<NumberedIndex[]> {
  const rest = chunksOf(head) - head.indexes.length;
  if (below > rest) yield numbered(head.indexes, rest, below);
  let rows = Math.ceil(Math.min(below, rest) / CHUNKS_AN_INDEX);
  for (let atOnce = 1; rows > 0; atOnce = Math.min(2 * atOnce, INDEX_ROWS_AT_ONCE)) {
    const loaded = await loadIndexRows(readModels, workspace, rows, Math.min(atOnce, rows));
    rows -= loaded.length;
    yield loaded.flatMap(({ number, indexes }) => numbered(indexes, number * CHUNKS_AN_INDEX, below));
  }
}

/** Returns the indexes of chunks from number `first` on that are below `below`, newest first. */
function numbered(indexes: readonly AuditIndex[], first: number, below: number): NumberedIndex[] {
  return indexes
    .slice(0, below - first)
    .map((index, at) => ({ number: first + at, index }))
    .reverse();
}

/** Returns up to `limit` index rows with numbers below `below`, newest first. */
async function loadIndexRows(readModels: ReadModels, workspace: string, below: number, limit: number) {
  const query = { partition: indexPartition(workspace), after: newestFirst(below), limit };
  const rows = await readModels.page(auditModel, query);
  if (rows.length < limit) throw incomplete();
  return rows.map(({ order, body }) => ({
    number: newestFirst(order),
    indexes: (body as AuditIndexRow).indexes,
  }));
}

/** Returns how many of the first chunks begin before a time. */
async function chunksBefore(
  readModels: ReadModels,
  workspace: string,
  head: AuditHead,
  time: string,
): Promise<number> {
  const isBefore = ({ from }: AuditIndex) => from < time;
  const rest = chunksOf(head) - head.indexes.length;
  let found = head.indexes.filter(isBefore).length;
  if (found > 0) return rest + found;
  let [low, high] = [0, rest / CHUNKS_AN_INDEX];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [row] = await loadIndexRows(readModels, workspace, middle + 1, 1);
    const before = row?.indexes.filter(isBefore).length ?? 0;
    if (before > 0) {
      low = middle + 1;
      found = middle * CHUNKS_AN_INDEX + before;
    } else {
      high = middle;
    }
  }
  return found;
}

async function* partsOf(
  readModels: ReadModels,
  workspace: string,
  { seen, to, ...facets }: AuditPartFilter,
  indexes: NumberedIndex[],
): AsyncGenerator<AuditPart> {
  const mayMatch = seen ? seen.signatureTest(facets) : signatureTest(facets);
  const isCandidate = ({ signatures, earliest }: AuditIndex) =>
    (to === undefined || earliest < to) && mayMatch(signatures);
  const candidates = indexes.filter(({ index }) => isCandidate(index)).map(({ number }) => number);
  const loaded = new Map<number, AuditEntry[]>();
  let atOnce = 1;
  let chunks = 0;
  for (const { number, index } of indexes) {
    chunks += 1;
    if (candidates[0] === number) {
      const wanted = candidates.splice(0, atOnce);
      for (const [at, entries] of await loadChunks(readModels, workspace, wanted)) loaded.set(at, entries);
      atOnce = Math.min(2 * atOnce, CHUNKS_AT_ONCE);
    }
    const entries = loaded.get(number);
    if (entries === undefined && number !== indexes.at(-1)?.number) continue;
    yield { first: number * ENTRIES_A_CHUNK, from: index.from, entries: entries ?? [], chunks };
    chunks = 0;
  }
}

async function loadChunks(
  readModels: ReadModels,
  workspace: string,
  numbers: number[],
): Promise<Map<number, AuditEntry[]>> {
  const ids = numbers.map((number) => chunkId(workspace, number));
  const rows = await readModels.load(auditModel, ids);
  if (rows.length < ids.length) throw incomplete();
  return new Map(rows.map(({ order, body }) => [newestFirst(order), (body as AuditChunk).entries]));
}

import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import {
  type AuditEntry,
  type AuditFacetValues,
  type AuditTally,
  addTallies,
  addUses,
  auditFacets,
  emptyTally,
  hasFacets,
  type PrincipalUse,
  type Span,
  signatureTest,
  tallyMinutes,
} from '../../../projections/auditAggregation.ts';
import {
  type AuditChunk,
  type AuditFirsts,
  type AuditHead,
  type AuditIndex,
  type AuditIndexRow,
  addFirsts,
  auditModel,
  CHUNKS_AN_INDEX,
  CLOCKS_APART_MS,
  chunkId,
  ENTRIES_A_CHUNK,
  indexPartition,
  lastSetBack,
  newestFirst,
  talliesModel,
  tallyId,
} from '../../../projections/auditTrail.ts';
import { maxTime, type Position } from '../../domain/events/event.ts';
import { encounterReadinessStream, recordStream } from '../../domain/events/streams.ts';
import { catalog } from '../../domain/records/catalog.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import { requiredDate } from '../../domain/records/schema/fields.ts';
import { instantOf } from '../../domain/records/schema/isoDates.ts';
import { validate, validationError } from '../../domain/records/schema/validation.ts';
import { type ServiceError, unavailable } from '../../platform/errors.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import {
  caughtUp,
  decodeToken,
  encodeToken,
  type Page,
  type PageRequest,
  type TokenScope,
} from '../records/queries/paging.ts';
import type { QueryPorts } from '../records/queries/records.ts';
import { type AccessedSubject, AccessIndex, accessedSubject, patientThings } from './accessIndex.ts';
import { isPageView } from './recordAccess.ts';

const INDEX_ROWS_AT_ONCE = 16;
const CHUNKS_AT_ONCE = 16;

/** A chunk of a workspace's audit trail, or the entries that do not fill one yet. */
interface AuditPart {
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
type AuditPartFilter = AuditFacetValues & { to?: string; seen?: AccessIndex };

/** Yields what may match in a workspace's audit trail, newest part first, starting with entry number `below - 1`. */
async function* auditParts(
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
    const from = maxTime(head.latest, oldestPending.recordedAt);
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

/**
 * Returns a position up to which all events of a workspace were recorded before a time (ISO 8601, UTC): the log is read for later
 * ones from there. 0 where the trail is too short to tell. Rejects with `unavailable`.
 */
export async function positionBefore(
  readModels: ReadModels,
  workspace: string,
  time: string,
): Promise<Position> {
  const head = await loadHead(readModels, workspace);
  const chunks = head ? await chunksBefore(readModels, workspace, head, time) : 0;
  if (chunks === 0) return 0;
  const [entries] = (await loadChunks(readModels, workspace, [chunks - 1])).values();
  return entries?.[0]?.position ?? 0;
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

/** A parameter that was sent twice is ignored. */
const value = z.string().optional().catch(undefined);
const moment = requiredDate('2026-03-14T12:00').optional();

const querySchema = z.object({
  from: moment,
  to: moment,
  principal: value,
  kind: value,
  id: value,
  action: value,
  outcome: value,
  /**
   * Who has seen the record with that kind and id, instead of what was done with it by name; with `all`, for a patient, also who
   * has seen its encounters and their documents.
   */
  seen: value,
  /** If given: without what users looked at on the dashboard. */
  without_views: value,
  page_token: value,
});

/** The names of the parameters that limit the trail, and of the page. */
export const auditParameters: readonly string[] = Object.keys(querySchema.shape);

/** The limits of an audit trail query. Times without an offset are UTC. */
export type AuditQuery = z.infer<typeof querySchema>;

/** Parses the parameters sent as a query. Throws `validation_failed`. */
export function auditQuery(sent: Record<string, unknown>): AuditQuery {
  const query = validate(querySchema, sent);
  if (query.seen !== undefined && (recordKindOf(query) === undefined || query.id === undefined)) {
    throw validationError([{ field: 'seen', message: 'requires a kind of record and a record id' }]);
  }
  return query;
}

function recordKindOf({ kind }: AuditQuery): string | undefined {
  return catalog.find((entry) => entry.kind === kind)?.kind;
}

/** Returns the limits of the query, as sent: for links, and for the audit trail entry of the read itself. */
export function limitsOf({ page_token: _token, ...limits }: AuditQuery): Record<string, string> {
  return Object.fromEntries(
    Object.entries(limits).filter((limit): limit is [string, string] => limit[1] !== undefined),
  );
}

/**
 * Returns the query as a filter for a workspace's trail. Rejects with `unavailable`; with `not_found` for all of a patient that
 * never existed.
 */
export async function auditFilter(
  ports: QueryPorts,
  workspace: string,
  query: AuditQuery,
): Promise<AuditFilter> {
  const filter: AuditFilter = {};
  for (const facet of auditFacets) if (query[facet] !== undefined) filter[facet] = query[facet];
  for (const bound of ['from', 'to'] as const) {
    const sent = query[bound];
    if (sent !== undefined) filter[bound] = new Date(instantOf(sent)).toISOString();
  }
  if (query.without_views !== undefined) {
    filter.isWanted = (entry) => !isPageView(entry);
    filter.scope = ['without_views'];
  }
  const kind = recordKindOf(query);
  if (query.seen === undefined || kind === undefined || query.id === undefined) return filter;
  const { kind: _kind, id: _id, ...others } = filter;
  return {
    ...others,
    scope: [query.seen, kind, query.id],
    seen: new AccessIndex(await accessedSubjects(ports, workspace, query.seen, kind, query.id)),
  };
}

async function accessedSubjects(
  ports: QueryPorts,
  workspace: string,
  seen: string,
  kind: string,
  id: string,
): Promise<AccessedSubject[]> {
  if (seen === 'all' && kind === patient.kind) return patientThings(ports, workspace, id);
  const streams = [recordStream(workspace, kind, id)];
  if (kind === encounter.kind) streams.push(encounterReadinessStream(workspace, id));
  return Promise.all(streams.map((stream) => accessedSubject(ports.eventLog, stream)));
}

interface TallyPorts {
  readModels: ReadModels;
}

/**
 * Returns the last use of a workspace's keys, and by users in it, by id; only the last 1,000. It may lag behind the log. Rejects
 * with `unavailable`.
 */
export async function lastUses(
  { readModels }: TallyPorts,
  workspace: string,
): Promise<Map<string, PrincipalUse>> {
  const head = await loadHead(readModels, workspace);
  return new Map(Object.entries(head ? addUses(head.uses, head.entries) : {}));
}

/**
 * Returns what happened in a number of a workspace's time spans, starting with number `first`, oldest first; empty for those that
 * are no longer kept, or in the future. It may lag behind the log. Rejects with `unavailable`.
 */
export async function readTallies(
  { readModels }: TallyPorts,
  workspace: string,
  span: Span,
  { first, count }: { first: number; count: number },
): Promise<AuditTally[]> {
  const numbers = Array.from({ length: count }, (_, at) => first + at);
  const head = await loadHead(readModels, workspace);
  if (head === undefined) return numbers.map(emptyTally);
  const ids = numbers.map((number) => tallyId(workspace, span, number));
  const rows = await readModels.load(talliesModel, ids);
  const latest = addTallies(span, head.tallies[span], tallyMinutes(head.entries, head.requests));
  const known = new Map([...rows.map(({ body }) => body), ...latest].map((tally) => [tally.number, tally]));
  return numbers.map((number) => known.get(number) ?? emptyTally(number));
}

/** Returns when each step towards using a workspace was first taken. It may lag behind the log. Rejects with `unavailable`. */
export async function readFirsts({ readModels }: TallyPorts, workspace: string): Promise<AuditFirsts> {
  const head = await loadHead(readModels, workspace);
  return head ? addFirsts(head.firsts, head.entries) : {};
}

/** Which entries are wanted; any if omitted. Times are ISO 8601, UTC, to the millisecond. */
export interface AuditFilter extends AuditFacetValues {
  /** Recorded at or after this. */
  from?: string;
  /** Recorded before this. */
  to?: string;
  /** Accesses by which somebody saw one of these, or may have; including those to other things that contained it. */
  seen?: AccessIndex;
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
  await caughtUp(ports, auditModel, 'list', { refusesEarly: true });
  if (below !== undefined) await requirePlace(ports, workspace, below);
  const { items, lookedBackTo, next } = await readBack(ports.readModels, workspace, filter, limit, below);
  return { items, lookedBackTo, next_page_token: next === undefined ? null : encodeToken(next, scope) };
}

/** Returns the newest matching entries of a workspace's audit trail; it may lag behind the log. Rejects with `unavailable`. */
export async function newestEntries(
  { readModels }: TallyPorts,
  workspace: string,
  filter: AuditFilter,
  limit: number,
): Promise<AuditEntry[]> {
  return (await readBack(readModels, workspace, filter, limit, undefined)).items;
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

/**
 * Returns up to `limit` entries of a workspace's audit trail after a position, oldest first, including every event acknowledged before
 * the call: to read on, pass the position of the last one. Rejects with `unavailable` as `readAuditTrail` does.
 */
export async function readAuditAfter(
  ports: QueryPorts,
  workspace: string,
  after: Position,
  limit: number,
): Promise<AuditEntry[]> {
  await caughtUp(ports, auditModel, 'list', { refusesEarly: true });
  const { readModels } = ports;
  const head = await loadHead(readModels, workspace);
  if (head === undefined) return [];
  const chunks = chunksOf(head);
  const found: AuditEntry[] = [];
  let next = await firstChunkAfter(readModels, workspace, after, chunks);
  while (next < chunks && found.length < limit) {
    const numbers = Array.from({ length: Math.min(CHUNKS_AT_ONCE, chunks - next) }, (_, at) => next + at);
    const loaded = await loadChunks(readModels, workspace, numbers);
    for (const number of numbers) found.push(...(loaded.get(number) ?? []));
    next += numbers.length;
  }
  if (next === chunks) found.push(...head.entries);
  return found.filter(({ position }) => position > after).slice(0, limit);
}

/** Returns the number of the first chunk with an entry after a position; `chunks` where there is none. */
async function firstChunkAfter(
  readModels: ReadModels,
  workspace: string,
  after: Position,
  chunks: number,
): Promise<number> {
  let [low, high] = [0, chunks];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [entries] = (await loadChunks(readModels, workspace, [middle])).values();
    if ((entries?.at(-1)?.position ?? 0) > after) high = middle;
    else low = middle + 1;
  }
  return low;
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
    // A store in this thread answers without letting anything else be served.
    await nextTurn();
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
  // Where nothing is left to be examined, there is no further page.
  let next = 0;
  let lookedBackTo: string | null = null;
  let chunks = 0;
  for await (const part of auditParts(readModels, workspace, filter, below)) {
    found.push(...matching(part, filter).filter(({ number }) => below === undefined || number < below));
    lookedBackTo = part.from;
    chunks += part.chunks;
    if (part.first === 0 || (filter.from !== undefined && part.from < filter.from)) break;
    if (found.length > limit || chunks >= MAX_CHUNKS) {
      next = part.first;
      break;
    }
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

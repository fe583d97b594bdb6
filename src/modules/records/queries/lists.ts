import { setImmediate as nextTurn } from 'node:timers/promises';
import { bodyOf, type Incomplete, isIncomplete } from '../../../../projections/projection.ts';
import { recordsModel } from '../../../../projections/records.ts';
import type { Position } from '../../../domain/events/event.ts';
import type { DisclosedRange } from '../../../domain/events/payloads.ts';
import { kindOfStream, kindPartition, recordIdOf, recordStream } from '../../../domain/events/streams.ts';
import type { RecordState } from '../../../domain/records/fold.ts';
import { encounter } from '../../../domain/records/kinds/encounter.ts';
import { type CatalogEntry, type RecordFields, recordName } from '../../../domain/records/schema/kind.ts';
import { type Filter, listOf, passes } from '../../../domain/records/searchIndex.ts';
import { ServiceError, UnreadableError, unavailable } from '../../../platform/errors.ts';
import type { ReadModels, Row } from '../../../storage/readModels.ts';
import { listRecordsAsOf, statesThen } from './listsAsOf.ts';
import {
  caughtUp,
  decodeToken,
  encodeToken,
  type Page,
  type PageRequest,
  type Reached,
  rangesOf,
  reachHead,
  type ShownPage,
  showPage,
  type TokenScope,
  type Total,
  totalOf,
} from './paging.ts';
import { mergedPatients, type QueryPorts, type RecordView, readRecord, toRecordView } from './records.ts';

type RecordRow = Row<RecordState | Incomplete>;

/** Up to this many rows found through one index are read as a whole and sorted. */
const FEW = 1_000;
/** Rows looked at for one page: where filters leave few, a page ends before it is full. */
const MAX_SCANNED = 10_000;
/** Rows read at once where a filter may leave some out. */
const CHUNK = 500;

/** How lists of records are sorted: in the order of creation, or by the last change, latest first. */
export const recordsSorts = ['created_at', '-updated_at'] as const;

/** Which of a list's records are wanted. */
export interface RecordsSelection {
  /** Default: `created_at`. */
  sort?: (typeof recordsSorts)[number] | undefined;
  filters?: readonly Filter[];
  /** Records that changed after a position; where `time` is given (ms since 1970), at that time or later. */
  since?: { after: Position; time?: number } | undefined;
}

/** `strong`: a page includes every write acknowledged before the request. `eventual`: it is what the read model has. */
export const consistencies = ['strong', 'eventual'] as const;

export type RecordsRequest = PageRequest &
  RecordsSelection & {
    /** Default: `strong`. */
    consistency?: (typeof consistencies)[number] | undefined;
    /** The moment that the list is of, in milliseconds since 1970; only with filters. Default: now. */
    asOf?: number | undefined;
  };

/** A page of rows, and the position up to which it includes every write. */
interface RecordsPage extends Page<RecordRow> {
  position: Position;
}

/**
 * Resolves with one page of a partition of the read model of records, including every write acknowledged before the
 * call unless the request is content with less; incomplete rows are on it whatever the filters say. Where filters leave few of many rows it may have fewer
 * than `limit`, or none, and still have a token. No row that does not change between two pages is left out or
 * repeated. Rejects with `unavailable`, and with `validation_failed` for a token of a list sorted or filtered
 * differently.
 */
export async function readRecordsPage(
  ports: QueryPorts,
  partition: string,
  request: RecordsRequest,
): Promise<RecordsPage> {
  const { pageToken, limit } = request;
  const scope = scopeOf(partition, request);
  const after = pageToken === undefined ? undefined : decodeToken(pageToken, scope);
  const position = await (request.consistency === 'eventual'
    ? ports.readModels.checkpoint(recordsModel, { isAwaited: false })
    : caughtUp(ports, recordsModel, 'list', { refusesEarly: true }));
  const items: RecordRow[] = [];
  let scanned = 0;
  let last = 0;
  for await (const row of await rowsOf(ports.readModels, { ...request, partition, after, head: position })) {
    if (items.length === limit || scanned === MAX_SCANNED) {
      return { items, next_page_token: encodeToken(last, scope), position };
    }
    scanned += 1;
    last = sortsByChange(request) ? row.position : row.order;
    if (isWanted(row, request)) items.push(row);
  }
  return { items, next_page_token: null, position };
}

/**
 * Resolves with how many records of a partition are wanted; undefined where no index has exactly these: the records
 * left by a date, a last change or several filters would have to be looked at one by one. May lag behind the log.
 * Rejects with `unavailable`.
 */
export async function countRecords(
  { readModels }: Pick<QueryPorts, 'readModels'>,
  partition: string,
  selection: RecordsSelection,
): Promise<Total | undefined> {
  const { filters = [], since } = selection;
  const list = shortestList(selection);
  if (since !== undefined || filters.length > (list === undefined ? 0 : 1)) return undefined;
  return totalOf(readModels, recordsModel, { partition, ...(list !== undefined && { list }) });
}

function isWanted(row: RecordRow, selection: RecordsSelection): boolean {
  const state = bodyOf(row);
  const isAfter = selection.since === undefined || row.position > selection.since.after;
  return isAfter && (state === undefined || isSelected(selection, state.fields, state.updatedAt));
}

/**
 * Whether a record with these fields and this last change is wanted, as far as that does not depend on its position.
 */
function isSelected(
  { filters = [], since }: RecordsSelection,
  fields: Record<string, unknown>,
  updatedAt: string,
): boolean {
  return (since?.time === undefined || Date.parse(updatedAt) >= since.time) && passes(filters, fields);
}

function sortsByChange({ sort }: RecordsSelection): boolean {
  return sort === '-updated_at';
}

/** Whether it is a part of all records, or in an order other than that of creation. */
function isPlain({ sort = 'created_at', filters = [], since }: RecordsSelection): boolean {
  return sort === 'created_at' && filters.length === 0 && since === undefined;
}

function scopeOf(
  partition: string,
  { sort = 'created_at', filters = [], since }: RecordsSelection,
): TokenScope {
  // The position of a time rises from page to page.
  const begin = since && (since.time === undefined ? { after: since.after } : { time: since.time });
  return [recordsModel, partition, sort, filters, begin];
}

/** A request, and the row after which its page begins. */
interface PageWalk extends RecordsRequest {
  partition: string;
  /** That row's place: its position where the list is sorted by change, otherwise its order. */
  after: number | undefined;
  head: Position;
}

/** Resolves with the rows from the beginning of the page, sorted; more than are wanted. */
async function rowsOf(
  readModels: ReadModels,
  walk: PageWalk,
): Promise<Iterable<RecordRow> | AsyncIterable<RecordRow>> {
  const few = await fewRows(readModels, walk);
  return few ?? (sortsByChange(walk) ? byChange(readModels, walk) : byCreation(readModels, walk));
}

/**
 * Returns the list that has all wanted rows, of those that the read model keeps; the shortest, as far as that is
 * known.
 */
function shortestList({ filters = [] }: RecordsSelection): string | undefined {
  const filter = filters.find((one) => 'value' in one);
  return filter && listOf(filter);
}

/**
 * Resolves with all rows found through an index other than that of the sort, sorted, when there is such an index and
 * the rows are few.
 */
async function fewRows(readModels: ReadModels, walk: PageWalk): Promise<RecordRow[] | undefined> {
  const { partition, since, after, head } = walk;
  const list = shortestList(walk);
  const limit = FEW + 1;
  if (sortsByChange(walk)) {
    const found = list && (await readModels.page(recordsModel, { partition, list, limit }));
    if (!found || found.length > FEW) return undefined;
    return found
      .filter(({ position }) => after === undefined || position < after)
      .sort((a, b) => b.position - a.position);
  }
  const found = since && (await readModels.changes(recordsModel, { partition, above: since.after, limit }));
  if (!found || found.length > FEW) return undefined;
  return found
    .filter(({ order }) => order <= head && (after === undefined || order > after))
    .sort((a, b) => a.order - b.order);
}

/** `list`: the rows that are read are all on it. */
function chunkOf({ filters = [], limit }: PageWalk, list?: string): number {
  const isExact = filters.every((filter) => 'value' in filter && listOf(filter) === list);
  return isExact ? limit + 1 : CHUNK;
}

/** A row that changes meanwhile moves to the front, and leaves all others where they are. */
async function* byChange(readModels: ReadModels, walk: PageWalk): AsyncGenerator<RecordRow> {
  const { partition, since } = walk;
  const limit = chunkOf(walk);
  for (let below = walk.after; ; ) {
    const rows = await readModels.changes(recordsModel, { partition, above: since?.after, below, limit });
    yield* rows;
    if (rows.length < limit) return;
    below = rows.at(-1)?.position;
  }
}

async function* byCreation(readModels: ReadModels, walk: PageWalk): AsyncGenerator<RecordRow> {
  const { partition, head } = walk;
  const list = shortestList(walk);
  const limit = chunkOf(walk, list);
  for (let { after } = walk; ; ) {
    const query = {
      partition,
      limit,
      ...(list !== undefined && { list }),
      ...(after !== undefined && { after }),
    };
    const rows = await readModels.page(recordsModel, query);
    for (const row of rows) {
      // A batch beyond the checkpoint may be half written: a page that ended in it could skip rows still to come.
      if (row.order > head) return;
      yield row;
    }
    if (rows.length < limit) return;
    after = rows.at(-1)?.order;
  }
}

/** An encounter's place among its patient's encounters. */
interface EncounterPlace {
  id: string;
  /** Position of its first event. */
  first: number;
  /** Position of its last event. */
  last: number;
}

/**
 * Resolves with the encounters of a patient and of those merged into that patient, most recently changed first, and
 * whether these are all; encounters that cannot be read are left out, as nobody knows whose they are. Rejects with
 * `unavailable`.
 */
export async function encountersOf(
  ports: QueryPorts,
  workspace: string,
  patientId: string,
  limit: number,
): Promise<{ places: EncounterPlace[]; isWhole: boolean }> {
  const pageOf = (value: string) =>
    readRecordsPage(ports, kindPartition(workspace, encounter.kind), {
      limit,
      pageToken: undefined,
      sort: '-updated_at',
      filters: [{ field: 'patient_id', value }],
    });
  const own = await pageOf(patientId);
  // By now the read model has everything acknowledged before the call.
  const merged = await mergedPatients(ports.readModels, workspace, patientId);
  const others = await Promise.all(merged.map(({ id }) => pageOf(recordIdOf(id))));
  const pages = [own, ...others];
  const places = pages
    .flatMap(({ items }) => items)
    .filter((row) => !isIncomplete(row))
    .map(({ id, order, position }) => ({ id: recordIdOf(id), first: order, last: position }))
    .sort((one, other) => other.last - one.last);
  const isWhole = pages.every(({ next_page_token }) => next_page_token === null) && places.length <= limit;
  return { places: places.slice(0, limit), isWhole };
}

/**
 * Resolves with a page of a workspace's records of one kind, as `readRecordsPage` does, and the position up to which
 * it includes every write.
 */
export async function listRecords(
  ports: QueryPorts,
  workspace: string,
  entry: CatalogEntry,
  request: RecordsRequest,
): Promise<ShownPage<RecordView> & { position: Position }> {
  const { asOf } = request;
  if (asOf !== undefined) return listRecordsAsOf(ports, workspace, entry, { ...request, asOf });
  const { position, ...rows } = await readRecordsPage(ports, kindPartition(workspace, entry.kind), request);
  const listing = {
    fromBody: toRecordView,
    fromLog: async (stream: string) => {
      const view = await unlessGone(readRecord(ports, workspace, entry, recordIdOf(stream)));
      return view && isSelected(request, view.record, view.updated_at) ? view : undefined;
    },
    idOf: recordIdOf,
  };
  return { ...(await showPage(rows, listing, !isPlain(request))), position };
}

async function unlessGone<Result>(reading: Promise<Result>): Promise<Result | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'gone') return undefined;
    throw error;
  }
}

/** What people call some records. */
export interface RecordNames {
  /** Undefined where the record has no name, does not exist, or was erased. */
  nameOf(kind: string, id: string): string | undefined;
  /** The fields of an encounter, which has no name of its own; undefined as for names. */
  fieldsOf(kind: string, id: string): RecordFields | undefined;
  /** For each kind that is named here: where in the log those records begin, for the audit trail. */
  shown: { kind: string; shown: DisclosedRange }[];
}

/**
 * Resolves with the names of these records, as of every write acknowledged before the call. Rejects with
 * `unavailable`.
 */
export async function readRecordNames(
  ports: QueryPorts,
  workspace: string,
  records: readonly { kind: string; id: string }[],
): Promise<RecordNames> {
  const streams = [...new Set(records.map(({ kind, id }) => recordStream(workspace, kind, id)))];
  if (streams.length > 0) await caughtUp(ports, recordsModel, 'list of records');
  const rows = await ports.readModels.load(recordsModel, streams);
  const names = new Map<string, string>();
  const encounters = new Map<string, RecordFields>();
  for (const row of rows) {
    const state = bodyOf(row);
    if (state === undefined || state.erased) continue;
    const name = recordName(state.fields);
    if (name !== undefined) names.set(row.id, name);
    else if (state.kind === encounter.kind) encounters.set(row.id, state.fields);
  }
  const named = Map.groupBy(
    rows.filter(({ id }) => names.has(id) || encounters.has(id)),
    ({ id }) => kindOfStream(id),
  );
  return {
    nameOf: (kind, id) => names.get(recordStream(workspace, kind, id)),
    fieldsOf: (kind, id) => encounters.get(recordStream(workspace, kind, id)),
    shown: [...named].map(([kind, some]) => ({
      kind,
      shown: { ranges: rangesOf(some, true), count: some.length },
    })),
  };
}

/** Records held at once. */
const PART = 200;

/** Every record of a kind, as it was at a position or later. */
export interface Snapshot {
  position: Position;
  /**
   * Yields the records created up to the position, in the order of creation, several at a time. `check` is called before each part.
   * Rejects with what it throws, and with `unavailable`, also when the read model was rebuilt from the start in between.
   */
  parts(check: () => void): AsyncIterable<SnapshotPart>;
}

export interface SnapshotPart {
  /** Undefined for a record that has an event that cannot be read. */
  states: (RecordState | undefined)[];
  /** Where in the log these records begin, for the audit trail; left out where there are none. */
  shown?: DisclosedRange;
}

/**
 * Resolves with a snapshot that includes every write acknowledged before the call, or of a moment (milliseconds since 1970). Rejects
 * with `unavailable`.
 */
export async function snapshotOf(
  ports: QueryPorts,
  workspace: string,
  { kind }: CatalogEntry,
  asOf = Number.POSITIVE_INFINITY,
): Promise<Snapshot> {
  const reached = await reachHead(ports, recordsModel, 'snapshot');
  const place = { partition: kindPartition(workspace, kind), ...reached, asOf };
  return { position: reached.position, parts: (check) => partsOf(ports, place, check) };
}

interface Place extends Reached {
  partition: string;
  asOf: number;
}

async function* partsOf(
  ports: QueryPorts,
  { partition, position, held, asOf }: Place,
  check: () => void,
): AsyncGenerator<SnapshotPart> {
  const { readModels } = ports;
  for (let after: number | undefined; ; ) {
    check();
    const query = { partition, limit: PART, ...(after !== undefined && { after }) };
    const rows = await readModels.page(recordsModel, query);
    // A read model emptied meanwhile would end the snapshot as if it were complete.
    if ((await readModels.checkpoint(recordsModel, { isAwaited: false })) < held)
      throw unavailable('snapshot');
    const created = rows.filter(({ order }) => order <= position);
    const states = await statesThen(ports, created, asOf);
    const there = created.filter((_, at) => states[at] !== undefined);
    yield {
      states: states
        .filter((state) => state !== undefined)
        .map((state) => (state instanceof UnreadableError ? undefined : state)),
      ...(there.length > 0 && { shown: { ranges: rangesOf(there, true), count: there.length } }),
    };
    const last = rows.at(-1);
    if (last === undefined || rows.length < PART || last.order > position) return;
    after = last.order;
    await nextTurn();
  }
}

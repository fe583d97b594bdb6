import { bodyOf, type Incomplete } from '../../../../projections/projection.ts';
import { recordsModel } from '../../../../projections/records.ts';
import type { Position } from '../../../domain/events/event.ts';
import { type Filter, listOf, passes } from '../../../domain/records/filters.ts';
import type { RecordState } from '../../../domain/records/fold.ts';
import type { ReadModels, Row } from '../../../storage/readModels.ts';
import { caughtUp, decodeToken, encodeToken, type Page, type PageRequest, type TokenScope } from './page.ts';
import type { QueryPorts } from './readRecord.ts';
import { type Total, totalOf } from './total.ts';

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

export type RecordsRequest = PageRequest & RecordsSelection;

/** A page of rows, and the position up to which it includes every write. */
export interface RecordsPage extends Page<RecordRow> {
  position: Position;
}

/**
 * Resolves with one page of a partition of the read model of records, including every write acknowledged before the
 * call; incomplete rows are on it whatever the filters say. Where filters leave few of many rows it may have fewer
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
  const position = await caughtUp(ports, recordsModel);
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
export function isSelected(
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
export function isPlain({ sort = 'created_at', filters = [], since }: RecordsSelection): boolean {
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
interface Walk extends RecordsRequest {
  partition: string;
  /** That row's place: its position where the list is sorted by change, otherwise its order. */
  after: number | undefined;
  head: Position;
}

/** Resolves with the rows from the beginning of the page, sorted; more than are wanted. */
async function rowsOf(
  readModels: ReadModels,
  walk: Walk,
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
async function fewRows(readModels: ReadModels, walk: Walk): Promise<RecordRow[] | undefined> {
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

function chunkOf({ filters = [], limit }: Walk): number {
  return filters.length > 0 ? CHUNK : limit + 1;
}

/** A row that changes meanwhile moves to the front, and leaves all others where they are. */
async function* byChange(readModels: ReadModels, walk: Walk): AsyncGenerator<RecordRow> {
  const { partition, since } = walk;
  const limit = chunkOf(walk);
  for (let below = walk.after; ; ) {
    const rows = await readModels.changes(recordsModel, { partition, above: since?.after, below, limit });
    yield* rows;
    if (rows.length < limit) return;
    below = rows.at(-1)?.position;
  }
}

async function* byCreation(readModels: ReadModels, walk: Walk): AsyncGenerator<RecordRow> {
  const { partition, head } = walk;
  const list = shortestList(walk);
  const limit = chunkOf(walk);
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

import { setImmediate as nextTurn } from 'node:timers/promises';
import { bodyOf, type Incomplete } from '../../../../projections/projection.ts';
import { documentPartitions, documentsModel, recordsModel } from '../../../../projections/records.ts';
import type { Position } from '../../../domain/events/event.ts';
import { documentIdsOf, kindPartition, recordIdOf, recordStream } from '../../../domain/events/streams.ts';
import {
  type DocumentState,
  type DocumentView,
  evolveDocument,
  type PresentDocument,
  viewDocument,
} from '../../../domain/records/document.ts';
import type { RecordState } from '../../../domain/records/fold.ts';
import type { CatalogEntry } from '../../../domain/records/schema/kind.ts';
import { type Filter, passes } from '../../../domain/records/searchIndex.ts';
import { asUnreadable, UnreadableError } from '../../../platform/errors.ts';
import type { ReadModels, Row } from '../../../storage/readModels.ts';
import { foldRecord } from './history.ts';
import {
  allRows,
  caughtUp,
  decodeToken,
  encodeToken,
  type ListPage,
  type PageRequest,
  rangesOf,
  type ShownPage,
} from './paging.ts';
import { allInTurns, foldStream, type QueryPorts, type RecordView, toRecordView } from './records.ts';

/*
 * The rows of the read models say which records there are, in the order of their creation, and none of those erased; what was not
 * changed since the moment is in them as it was. Anything else is folded from its stream up to the moment.
 */

/** Streams folded at the same time, where a store has to be waited for. */
const STREAMS_AT_ONCE = 16;
/** Rows looked at, and streams folded, for one page: where few records are wanted, it ends before it is full. */
const MAX_SCANNED = 10_000;
const MAX_FOLDED = 1_000;
/** Rows read at once. */
const CHUNK = 500;

type RecordRow = Row<RecordState | Incomplete>;

/** What a row's record was at a moment: undefined where it did not exist, the error where an event up to then cannot be read. */
type Then = RecordState | UnreadableError | undefined;

/** Whether the row's state does not say what its record was at a moment, in milliseconds since 1970. */
function isToFold(row: RecordRow, asOf: number): boolean {
  const state = bodyOf(row);
  return state === undefined || (Date.parse(state.updatedAt) > asOf && Date.parse(state.createdAt) <= asOf);
}

async function stateThen(ports: QueryPorts, row: RecordRow, asOf: number): Promise<Then> {
  const present = bodyOf(row);
  const state = isToFold(row, asOf)
    ? await foldRecord(ports, row.id, { asOf }).catch(asUnreadable)
    : present && Date.parse(present.updatedAt) <= asOf
      ? present
      : undefined;
  return state instanceof UnreadableError || !state?.erased ? state : undefined;
}

/**
 * Resolves with what the records of some rows were at a moment (milliseconds since 1970), and serves other requests in between.
 * Rejects with `unavailable`.
 */
export async function statesThen(
  ports: QueryPorts,
  rows: readonly RecordRow[],
  asOf: number,
): Promise<Then[]> {
  const states: Then[] = [];
  for (let from = 0; from < rows.length; from += STREAMS_AT_ONCE) {
    const some = rows.slice(from, from + STREAMS_AT_ONCE);
    states.push(...(await allInTurns(some, (row) => stateThen(ports, row, asOf))));
    if (some.some((row) => isToFold(row, asOf))) await nextTurn();
  }
  return states;
}

/** A page as of a moment, in milliseconds since 1970. */
export interface RequestAsOf extends PageRequest {
  asOf: number;
  /** What the fields were then. */
  filters?: readonly Filter[] | undefined;
}

/**
 * Resolves with one page of a workspace's records of one kind as they were at a moment, in the order of creation: without those that
 * did not exist then, and without anything erased since; and the position up to which it includes every erasure. A page may have
 * fewer than `limit`, or none, and still have a token. Rejects with `unavailable`, and with `validation_failed` for a token of another
 * list.
 */
export async function listRecordsAsOf(
  ports: QueryPorts,
  workspace: string,
  { kind }: CatalogEntry,
  { limit, pageToken, asOf, filters = [] }: RequestAsOf,
): Promise<ShownPage<RecordView> & { position: Position }> {
  const partition = kindPartition(workspace, kind);
  const scope = [recordsModel, partition, { asOf }, filters];
  const after = pageToken === undefined ? undefined : decodeToken(pageToken, scope);
  const position = await caughtUp(ports, recordsModel, 'list', { refusesEarly: true });
  const page: ListPage<RecordView> = { items: [], next_page_token: null, unreadable: [] };
  const shown: RecordRow[] = [];
  let [scanned, folded, last] = [0, 0, after];
  for await (const rows of rowsAfter(ports.readModels, partition, after)) {
    const states = await statesThen(ports, rows, asOf);
    for (const [at, row] of rows.entries()) {
      // A batch beyond the checkpoint may be half written: a page that ended in it could skip rows still to come.
      if (row.order > position) return shownPage(page, shown, position);
      if (shown.length === limit || scanned >= MAX_SCANNED || folded >= MAX_FOLDED) {
        page.next_page_token = encodeToken(last as number, scope);
        return shownPage(page, shown, position);
      }
      [scanned, last] = [scanned + 1, row.order];
      if (isToFold(row, asOf)) folded += 1;
      const state = states[at];
      if (state instanceof UnreadableError) page.unreadable.push(recordIdOf(row.id));
      else if (state && passes(filters, state.fields)) page.items.push(toRecordView(state));
      else continue;
      shown.push(row);
    }
  }
  return shownPage(page, shown, position);
}

function shownPage(page: ListPage<RecordView>, rows: readonly RecordRow[], position: Position) {
  const shown = rows.length > 0 && { shown: { ranges: rangesOf(rows, true), count: rows.length } };
  return { page, position, ...shown };
}

/** Yields the rows of a partition by creation, in parts that can be folded before other requests are served. */
async function* rowsAfter(
  readModels: ReadModels,
  partition: string,
  start: number | undefined,
): AsyncGenerator<RecordRow[]> {
  for (let after = start; ; ) {
    const query = { partition, limit: CHUNK, ...(after !== undefined && { after }) };
    const rows = await readModels.page(recordsModel, query);
    for (let from = 0; from < rows.length; from += STREAMS_AT_ONCE)
      yield rows.slice(from, from + STREAMS_AT_ONCE);
    if (rows.length < CHUNK) return;
    after = rows.at(-1)?.order;
  }
}

/**
 * Resolves with a page of an encounter's documents as they were at a moment, also those that were removed since. Rejects as
 * `listRecordsAsOf` does.
 */
export async function listDocumentsAsOf(
  ports: QueryPorts,
  workspace: string,
  encounterId: string,
  { limit, pageToken, asOf }: RequestAsOf,
): Promise<ListPage<DocumentView>> {
  const encounter = recordStream(workspace, 'encounter', encounterId);
  const scope = [documentsModel, encounter, { asOf }];
  const after = pageToken === undefined ? 0 : decodeToken(pageToken, scope);
  await caughtUp(ports, documentsModel, 'list', { refusesEarly: true });
  const rows: Row[] = [];
  for (const partition of documentPartitions(encounter)) {
    for await (const row of allRows(ports.readModels, documentsModel, partition)) rows.push(row);
  }
  const page: ListPage<DocumentView> = { items: [], next_page_token: null, unreadable: [] };
  const isWanted = ({ recordedAt }: { recordedAt: string }) => Date.parse(recordedAt) <= asOf;
  let last = after;
  for (const row of rows.filter(({ order }) => order > after).sort((a, b) => a.order - b.order)) {
    if (page.items.length + page.unreadable.length === limit) {
      page.next_page_token = encodeToken(last, scope);
      return page;
    }
    last = row.order;
    const state: DocumentState | UnreadableError | undefined = await foldStream(
      ports.eventLog,
      row.id,
      evolveDocument,
      { isWanted },
    ).catch(asUnreadable);
    if (state instanceof UnreadableError) page.unreadable.push(documentIdsOf(row.id).documentId);
    else if (state && !state.removed) page.items.push(viewDocument(state as PresentDocument));
  }
  return page;
}

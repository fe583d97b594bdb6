import { bodyOf, type Incomplete, isIncomplete } from '../../../../projections/projection.ts';
import { type PositionRange, type Shown, withRange } from '../../../domain/events/shown.ts';
import { UnreadableError } from '../../../platform/errors.ts';
import type { ModelName, Row } from '../../../storage/readModels.ts';
import { type Page, type PageRequest, readPage } from './page.ts';
import type { QueryPorts } from './readRecord.ts';

/** Streams read from the log at once, for incomplete rows. */
const READ_AT_ONCE = 16;
/** Maximum number of log ranges by which the audit trail identifies the items of a page that shows a selection. */
const MAX_RANGES = 20;

/** A page of a list, and what belongs on it but cannot be shown. */
export interface ListPage<Item> extends Page<Item> {
  /** The caller's ids of what is left out because an event in its history cannot be read by this process. */
  unreadable: string[];
}

/** A page, and where in the log its items begin, for the audit trail; left out where it has none. */
export interface ShownPage<Item> {
  page: ListPage<Item>;
  shown?: Shown;
}

/** How a list presents its items. */
export interface Listing<Body extends object, Item> {
  fromBody(body: Body): Item;
  /**
   * Resolves with a stream's item from the log alone; with none where it does not belong on the list. Rejects with
   * `unreadable`.
   */
  fromLog(stream: string): Promise<Item | undefined>;
  /** Returns the caller's id of what a stream holds. */
  idOf(stream: string): string;
}

/**
 * Resolves with a page as `readPage` does. Where the read model is incomplete the log is asked; what cannot be read
 * from there is named.
 */
export async function readListPage<Body extends object, Item>(
  ports: QueryPorts,
  model: ModelName<Body | Incomplete>,
  partition: string,
  request: PageRequest,
  listing: Listing<Body, Item>,
): Promise<ShownPage<Item>> {
  return showPage(await readPage(ports, model, partition, request), listing);
}

/** Resolves with what a page of rows shows; `isSelection`: other rows lie between them. */
export async function showPage<Body extends object, Item>(
  { items: rows, next_page_token }: Page<Row<Body | Incomplete>>,
  listing: Listing<Body, Item>,
  isSelection = false,
): Promise<ShownPage<Item>> {
  const found = await readIncomplete(rows.filter(isIncomplete), listing);
  const items = rows.flatMap((row) => {
    const body = bodyOf(row);
    const item = body === undefined ? found.get(row.id) : listing.fromBody(body);
    return item === undefined ? [] : [item];
  });
  const unreadable = rows.filter((row) => isIncomplete(row) && !found.has(row.id));
  const page = { items, next_page_token, unreadable: unreadable.map(({ id }) => listing.idOf(id)) };
  return {
    page,
    ...(rows.length > 0 && { shown: { ranges: rangesOf(rows, isSelection), count: rows.length } }),
  };
}

/**
 * Returns where the rows of a page begin in the log, for the audit trail; `isSelection`: other rows lie between them.
 */
export function rangesOf(rows: readonly Row[], isSelection: boolean): PositionRange[] {
  if (!isSelection) return [{ from: rows[0]?.order as number, to: rows.at(-1)?.order as number }];
  const places = rows.map(({ order }) => ({ from: order, to: order }));
  return places.reduce<PositionRange[]>((ranges, place) => withRange(ranges, place, MAX_RANGES), []);
}

/** Resolves with the items of incomplete rows, by stream, without those that cannot be read. */
async function readIncomplete<Item>(
  rows: Row[],
  { fromLog }: Pick<Listing<object, Item>, 'fromLog'>,
): Promise<Map<string, Item | undefined>> {
  const found = new Map<string, Item | undefined>();
  for (let at = 0; at < rows.length; at += READ_AT_ONCE) {
    const reading = rows.slice(at, at + READ_AT_ONCE).map(async ({ id }) => {
      try {
        found.set(id, await fromLog(id));
      } catch (error) {
        if (!(error instanceof UnreadableError)) throw error;
      }
    });
    await Promise.all(reading);
  }
  return found;
}

import { bodyOf, type Incomplete, isIncomplete } from '../../projections/projection.ts';
import { UnreadableError } from '../errors.ts';
import { type PositionRange, type Shown, withRange } from '../events/shown.ts';
import type { ModelName, Row } from '../ports/readModels.ts';
import { type Page, type PageRequest, readPage } from './page.ts';
import type { QueryPorts } from './readRecord.ts';

/** Streams read from the log at once, for rows that are incomplete. */
const READ_AT_ONCE = 16;
/** Ranges of the log by which the audit trail tells the items of a page that are a selection. */
const MAX_RANGES = 20;

/** A page of a list, and what belongs on it but cannot be shown. */
export interface ListPage<Item> extends Page<Item> {
  /** The caller's ids of what is left out, because an event of its history cannot be read by this process. */
  unreadable: string[];
}

/** A page, and where in the log its items begin, for the audit trail; left out where it has none. */
export interface ShownPage<Item> {
  page: ListPage<Item>;
  shown?: Shown;
}

/** How a list shows what it lists. */
export interface Listing<Body extends object, Item> {
  fromBody(body: Body): Item;
  /** The item of a stream by the log alone; none where the list does not have it. Rejects with `unreadable`. */
  fromLog(stream: string): Promise<Item | undefined>;
  /** The caller's id of what a stream holds. */
  idOf(stream: string): string;
}

/** A page as `readPage` gives it. Where the read model is incomplete the log is asked; what that cannot tell is named. */
export async function readListPage<Body extends object, Item>(
  ports: QueryPorts,
  model: ModelName<Body | Incomplete>,
  partition: string,
  request: PageRequest,
  listing: Listing<Body, Item>,
): Promise<ShownPage<Item>> {
  return showPage(await readPage(ports, model, partition, request), listing);
}

/** What a page of rows shows; `isSelection`: there are others between them. */
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

/** Where the rows of a page begin in the log, for the audit trail; `isSelection`: there are others between them. */
export function rangesOf(rows: readonly Row[], isSelection: boolean): PositionRange[] {
  if (!isSelection) return [{ from: rows[0]?.order as number, to: rows.at(-1)?.order as number }];
  const places = rows.map(({ order }) => ({ from: order, to: order }));
  return places.reduce<PositionRange[]>((ranges, place) => withRange(ranges, place, MAX_RANGES), []);
}

/** The items of incomplete rows, by stream, without those that cannot be read. */
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

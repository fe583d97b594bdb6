import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { projections } from '../../../../projections/index.ts';
import { bodyOf, type Incomplete, isIncomplete, modelName } from '../../../../projections/projection.ts';
import type { Position } from '../../../domain/events/event.ts';
import { type DisclosedRange, type PositionRange, withRange } from '../../../domain/events/payloads.ts';
import { validationError } from '../../../domain/records/schema/validation.ts';
import { ServiceError, UnreadableError, unavailable } from '../../../platform/errors.ts';
import type { ModelName, PageQuery, ReadModels, Row } from '../../../storage/readModels.ts';
import { hopelessMs } from './pace.ts';
import type { QueryPorts } from './records.ts';

const PAGE = 500;

/**
 * Yields all rows of a partition in the order of creation, reading a page at a time. Rows of events that the read
 * model had when the iteration began are included; a caller that needs writes acknowledged just now first waits for
 * them (`caughtUp`). Rejects with `unavailable`.
 */
export async function* allRows<Body extends object>(
  readModels: ReadModels,
  model: ModelName<Body>,
  partition: string,
): AsyncGenerator<Row<Body>> {
  for (let after: number | undefined; ; ) {
    const query = { partition, limit: PAGE, ...(after !== undefined && { after }) };
    const rows = await readModels.page(model, query);
    yield* rows;
    if (rows.length < PAGE) return;
    after = rows.at(-1)?.order;
  }
}

const MOST_MS = 5;

/**
 * For whoever looks again and again for what may come within a millisecond, or later: returns a function that resolves after a
 * pause, longer each time up to 5 ms, or at the signal.
 */
export function growingPauses(signal?: AbortSignal): () => Promise<void> {
  let ms = 1;
  return async () => {
    await sleep(ms, undefined, { signal }).catch(() => undefined);
    ms = Math.min(2 * ms, MOST_MS);
  };
}

const CATCH_UP_TIMEOUT_MS = 2_000;

export interface PageRequest {
  limit: number;
  /** From an earlier page's `next_page_token`. */
  pageToken: string | undefined;
}

export interface Page<Item> {
  items: Item[];
  next_page_token: string | null;
}

/**
 * Resolves with one page of a partition, in the order of creation, including every write acknowledged before the
 * call: it waits for the projector, and rejects with `unavailable` as `untilReached` does.
 */
export async function readPage<Body extends object>(
  ports: QueryPorts,
  model: ModelName<Body>,
  partition: string,
  request: PageRequest,
): Promise<Page<Row<Body>>> {
  const scope = [model, partition];
  const after = request.pageToken === undefined ? undefined : decodeToken(request.pageToken, scope);
  const head = await caughtUp(ports, model, 'list', { refusesEarly: true });
  const found = await ports.readModels.page(model, {
    partition,
    ...(after !== undefined && { after }),
    limit: request.limit + 1,
  });
  // A batch beyond the checkpoint may be half written: a page that ended in it could skip rows still to come.
  const rows = found.filter(({ order }) => order <= head);
  const items = rows.slice(0, request.limit);
  const last = items.at(-1);
  return {
    items,
    next_page_token: rows.length > items.length && last ? encodeToken(last.order, scope) : null,
  };
}

interface WaitOptions {
  /**
   * Rejects as soon as the pace of the read model shows that the wait would be too long, with the seconds after which to try again:
   * for requests. Default: no, as work in the background gains nothing by an early refusal.
   */
  refusesEarly?: boolean;
}

const eventTypesOf = new Map(projections.map((one) => [modelName(one), one.eventTypes]));

/** What a read model holds: everything up to `position`; its checkpoint is at `held` or later for as long as it is not emptied. */
export interface Reached {
  position: Position;
  held: Position;
}

/**
 * Waits until the read model, called `what` in errors, holds everything up to the log's head, and resolves with that
 * position. It does not wait for events that the model does not take: the last one is mostly the access of the reader before. Rejects
 * as `untilReached` does.
 */
export async function reachHead(
  { eventLog, readModels }: QueryPorts,
  model: string,
  what = 'list',
  options: WaitOptions = {},
): Promise<Reached> {
  const position = await eventLog.head();
  const held = await readModels.checkpoint(model, { isAwaited: false });
  const taken = eventTypesOf.get(model);
  const isBehind = held < position && (taken === undefined || (await eventLog.mayHaveBehind(held, taken)));
  if (!isBehind) return { position, held };
  await untilReached(readModels, model, position, what, options);
  return { position, held: position };
}

/** Waits as `reachHead` does; resolves with the position. */
export async function caughtUp(...waiting: Parameters<typeof reachHead>): Promise<Position> {
  return (await reachHead(...waiting)).position;
}

/**
 * Waits until the read model, called `what` in errors, holds everything up to a position. Rejects with `unavailable`
 * when that takes more than two seconds.
 */
export async function untilReached(
  readModels: ReadModels,
  model: ModelName,
  position: Position,
  what: string,
  { refusesEarly = false }: WaitOptions = {},
): Promise<void> {
  const deadline = performance.now() + CATCH_UP_TIMEOUT_MS;
  for (const pause = growingPauses(); ; await pause()) {
    const reached = await readModels.checkpoint(model);
    if (reached >= position) return;
    const leftMs = deadline - performance.now();
    if (leftMs < 0) throw unavailable(what);
    const ms = refusesEarly ? hopelessMs(readModels, model, reached, position, leftMs) : undefined;
    if (ms !== undefined) throw notYet(what, ms);
  }
}

const MAX_RETRY_AFTER_SECONDS = 60;

function notYet(what: string, ms: number): ServiceError {
  const retryAfterSeconds = Math.min(Math.ceil(ms / 1_000), MAX_RETRY_AFTER_SECONDS);
  const message = `The ${what} is temporarily unavailable. Try again in ${retryAfterSeconds} seconds.`;
  return new ServiceError('unavailable', message, { retryAfterSeconds });
}

/**
 * What a page token is valid for: a list's name, whose it is (workspace, stream or partition), and what selects and
 * sorts its items. Written as JSON; undefined members of objects don't count.
 */
export type TokenScope = readonly unknown[];

/** Returns a page token that carries a place, a whole number, in one list. */
export function encodeToken(place: number, scope: TokenScope): string {
  return Buffer.from(`4.${place}.${digestOf([place, scope])}`).toString('base64url');
}

/** Returns the place in a page token of this list. Throws `validation_failed` for a token of any other. */
export function decodeToken(token: string, scope: TokenScope): number {
  const place = Number(/^4\.(\d{1,16})\./.exec(Buffer.from(token, 'base64url').toString())?.[1]);
  // Compared as a whole: the decoder skips what is no base64url, and bits beyond the last byte.
  if (token !== encodeToken(place, scope)) {
    throw validationError([
      {
        field: 'page_token',
        message:
          'must be the next_page_token of an earlier page of the same list, with the same sorting and filters',
      },
    ]);
  }
  return place;
}

function digestOf(content: unknown): string {
  return createHash('sha256').update(JSON.stringify(content)).digest('base64url').slice(0, 22);
}

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
  shown?: DisclosedRange;
}

/** How a list presents its items. */
interface Listing<Body extends object, Item> {
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
export function rangesOf(rows: readonly Pick<Row, 'order'>[], isSelection: boolean): PositionRange[] {
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

/** Beyond this many, a list only says that there are more: an index is counted by walking it. */
const MOST_COUNTED = 1_000;

/** The number of items in a list. */
export interface Total {
  count: number;
  /** There are more than `count`. */
  isMore: boolean;
}

/**
 * Resolves with how many rows a partition has, or one of its lists. May lag behind the log. Rejects with
 * `unavailable`.
 */
export async function totalOf(
  readModels: ReadModels,
  model: ModelName,
  query: Omit<PageQuery, 'after' | 'limit'>,
): Promise<Total> {
  const count = await readModels.countPage(model, { ...query, limit: MOST_COUNTED + 1 });
  return { count: Math.min(count, MOST_COUNTED), isMore: count > MOST_COUNTED };
}

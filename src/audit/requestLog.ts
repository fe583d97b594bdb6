import { refusedRequestsModel } from '../../projections/audit/audit.ts';
import { newestFirst } from '../../projections/audit/newestFirst.ts';
import {
  hasRequestFacets,
  type RefusedRequest,
  type RequestFacetValues,
  refusedRequestId,
  requestList,
  requestsPartition,
} from '../../projections/audit/refusedRequest.ts';
import type { Position } from '../events/event.ts';
import type { ReadModels } from '../ports/readModels.ts';
import { caughtUp, decodeToken, encodeToken, type Page, type PageRequest } from '../reads/page.ts';
import type { QueryPorts } from '../reads/readRecord.ts';
import { type Total, totalOf } from '../reads/total.ts';

export type { RefusedRequest } from '../../projections/audit/refusedRequest.ts';

/** Which refused requests are wanted; what is left out may be any. Times are ISO 8601, UTC, to the millisecond. */
export interface RequestFilter extends RequestFacetValues {
  /** Refused at or after this. */
  from?: string;
  /** Refused before this. */
  to?: string;
}

/** Rows looked at for one page: where filters leave little, a page ends before it is full. */
const MAX_SCANNED = 2_000;
const CHUNK = 200;

/**
 * The refused request of this id in a workspace, or the batch of this id of which lines were refused, pages of the dashboard
 * included; undefined when there is none. It knows every request that was answered before the call, and rejects with
 * `unavailable` when the projector is more than two seconds behind.
 */
export async function findRefusedRequest(
  ports: QueryPorts,
  workspace: string,
  requestId: string,
): Promise<RefusedRequest | undefined> {
  await caughtUp(ports, refusedRequestsModel);
  const [row] = await ports.readModels.load(refusedRequestsModel, [refusedRequestId(workspace, requestId)]);
  return row?.body;
}

/**
 * One page of what the keys of a workspace were refused, newest first, with all that was answered before the call. Where filters
 * leave few of many it may have less than `limit`, or none, and a token to go on with. Rejects with `unavailable` as
 * `findRefusedRequest` does, and with `validation_failed` for a token that is none.
 */
export async function readRequestLog(
  ports: QueryPorts,
  workspace: string,
  filter: RequestFilter,
  { limit, pageToken }: PageRequest,
): Promise<Page<RefusedRequest>> {
  const { from, to } = filter;
  const partition = requestsPartition(workspace);
  const list = requestList(filter);
  const sent = pageToken === undefined ? undefined : decodeToken(pageToken);
  const end = (await caughtUp(ports, refusedRequestsModel)) + 1;
  let below = sent ?? (to === undefined ? end : await firstSince(ports.readModels, partition, to, end));
  const items: RefusedRequest[] = [];
  for (let scanned = 0; ; ) {
    const rows = await ports.readModels.page(refusedRequestsModel, {
      partition,
      ...(list !== undefined && { list }),
      after: newestFirst(below),
      limit: CHUNK,
    });
    for (const { position, body } of rows) {
      if (from !== undefined && body.recordedAt < from) return { items, next_page_token: null };
      if (items.length === limit || scanned === MAX_SCANNED) {
        return { items, next_page_token: encodeToken(below) };
      }
      below = position;
      scanned += 1;
      if (hasRequestFacets(body, filter) && (to === undefined || body.recordedAt < to)) items.push(body);
    }
    if (rows.length < CHUNK) return { items, next_page_token: null };
  }
}

/**
 * How many refused requests a filter leaves; undefined where no list has exactly these. It may lag behind the log. Rejects with
 * `unavailable`.
 */
export async function countRefusedRequests(
  { readModels }: Pick<QueryPorts, 'readModels'>,
  workspace: string,
  { from, to, ...facets }: RequestFilter,
): Promise<Total | undefined> {
  const { key: _key, ...others } = facets;
  const isWhole = from === undefined && to === undefined;
  if (!isWhole || Object.values(others).filter((one) => one !== undefined).length > 1) return undefined;
  const list = requestList(facets);
  const partition = requestsPartition(workspace);
  return totalOf(readModels, refusedRequestsModel, { partition, ...(list !== undefined && { list }) });
}

/** The position before `end` from which on everything was refused at a time or later, by halving what lies between. */
async function firstSince(
  readModels: ReadModels,
  partition: string,
  time: string,
  end: Position,
): Promise<Position> {
  let [low, high] = [0, end];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const query = { partition, after: newestFirst(middle + 1), limit: 1 };
    const [row] = await readModels.page(refusedRequestsModel, query);
    if (row === undefined || row.body.recordedAt < time) low = middle + 1;
    else high = row.position;
  }
  return low;
}

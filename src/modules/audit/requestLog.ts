import { v7 as uuidv7 } from 'uuid';
import {
  hasRequestFacets,
  lastSetBack,
  newestFirst,
  type RefusedRequest,
  type RequestFacetValues,
  refusedRequestId,
  refusedRequestsModel,
  requestList,
  requestsPartition,
} from '../../../projections/auditTrail.ts';
import type { Position } from '../../domain/events/event.ts';
import { tombstoneTypes } from '../../domain/events/payloads.ts';
import { INSTALLATION, recordStream } from '../../domain/events/streams.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import {
  caughtUp,
  decodeToken,
  encodeToken,
  type Page,
  type PageRequest,
  type Total,
  totalOf,
} from '../records/queries/paging.ts';
import type { QueryPorts } from '../records/queries/records.ts';
import { recordFurtherAccess } from './recordAccess.ts';
import { laterBy, loadHead } from './trail.ts';

/** When the first counts are recorded; later ones wait longer. */
const FIRST_MS = 60_000;
const EVERY_MS = 600_000;
/** Number of addresses counted individually, and of those that get their own entry; the others share one. */
const MOST_COUNTED = 1_000;
const MOST_NAMED = 20;

/** Stands for all addresses that are not counted individually. */
const OTHERS = '';

/**
 * Counts requests refused because of an unknown API key, by client address; nothing of the key itself is kept. The counts become
 * entries in the installation's audit trail: at most 21 in ten minutes for each thread that answers requests, however many
 * requests and addresses there are. What was counted when a process is killed is lost.
 */
export class UnknownKeyTally {
  readonly #eventLog: EventLog;
  #counts = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  /** On the monotonic clock. */
  #flushedAt = Number.NEGATIVE_INFINITY;

  constructor(eventLog: EventLog) {
    this.#eventLog = eventLog;
  }

  /** Counts one, from an address or network. */
  add(clientIp: string): void {
    this.#count(clientIp, 1);
  }

  /** Records what was counted. Rejects with `unavailable`; what is not recorded then waits for the next time. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#flushedAt = performance.now();
    const counted = mostFrequent(this.#counts);
    this.#counts = new Map();
    const recorded = await Promise.allSettled(counted.map((one) => this.#record(...one)));
    for (const [index, { status }] of recorded.entries()) {
      if (status === 'rejected') this.#count(...(counted[index] as [string, number]));
    }
    const failed = recorded.find(({ status }) => status === 'rejected');
    if (failed) throw (failed as PromiseRejectedResult).reason;
  }

  #count(address: string, count: number): void {
    const isCounted = this.#counts.has(address) || this.#counts.size < MOST_COUNTED;
    const key = isCounted ? address : OTHERS;
    this.#counts.set(key, count + (this.#counts.get(key) ?? 0));
    if (this.#timer) return;
    const wait = Math.max(FIRST_MS, this.#flushedAt + EVERY_MS - performance.now());
    this.#timer = setTimeout(() => this.flush().catch(() => undefined), wait).unref();
  }

  #record(address: string, count: number): Promise<void> {
    const caller = {
      workspace: INSTALLATION,
      principal: { type: 'service', id: 'api' } as const,
      requestId: uuidv7(),
      ...(address !== OTHERS && { clientIp: address }),
    };
    const refused = { outcome: 'refused', code: 'unauthorized', status: 401 } as const;
    return recordFurtherAccess(this.#eventLog, caller, { action: 'key.unknown', ...refused, count });
  }
}

/** Returns the addresses with the highest counts, and the sum of all others. */
function mostFrequent(counts: ReadonlyMap<string, number>): [string, number][] {
  const sorted = [...counts]
    .filter(([address]) => address !== OTHERS)
    .sort(([, one], [, other]) => other - one);
  const named = sorted.slice(0, MOST_NAMED);
  const rest = sorted.slice(MOST_NAMED).reduce((sum, [, count]) => sum + count, counts.get(OTHERS) ?? 0);
  return rest === 0 ? named : [...named, [OTHERS, rest]];
}

/** Which refused requests are wanted; any if omitted. Times are ISO 8601, UTC, to the millisecond. */
export interface RequestFilter extends Omit<RequestFacetValues, 'key'> {
  /** Sent with one of these keys, or by this MLLP source: ids. */
  keys?: readonly string[];
  /** Refused at or after this. */
  from?: string;
  /** Refused before this. */
  to?: string;
}

/** Number of rows examined for one page: when filters leave little, a page ends before it is full. */
const MAX_SCANNED = 2_000;
const CHUNK = 200;

/**
 * Returns a workspace's refused request with this id, or the batch with this id that had refused lines, including dashboard
 * pages; undefined when there is none. It covers every request answered before the call, and rejects with `unavailable` when the
 * projector is more than two seconds behind.
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

/** Versions of a record among which one after a refusal is looked for. */
const MOST_VERSIONS = 200;

/**
 * Resolves with the first version of a record that was written after a time, and when; of a record with many, only among its last
 * versions. Undefined where there is none. Rejects with `unavailable`.
 */
export async function versionSince(
  eventLog: EventLog,
  workspace: string,
  { kind, id }: { kind: string; id: string },
  time: string,
): Promise<{ version: number; at: string } | undefined> {
  const stream = recordStream(workspace, kind, id);
  const events = await eventLog.readStream(stream, { direction: 'backwards', limit: MOST_VERSIONS });
  const first = events.findLast(
    ({ recordedAt, type }) => recordedAt > time && !tombstoneTypes.includes(type),
  );
  return first && { version: first.revision + 1, at: first.recordedAt };
}

/**
 * Returns one page of what a workspace's keys were refused, newest first, including everything answered before the call. When
 * filters leave few of many it may have less than `limit`, or none, and a token to continue with. Rejects with `unavailable` as
 * `findRefusedRequest` does, and with `validation_failed` for an invalid token.
 */
export async function readRequestLog(
  ports: QueryPorts,
  workspace: string,
  filter: RequestFilter,
  { limit, pageToken }: PageRequest,
): Promise<Page<RefusedRequest>> {
  const { from, to, keys, ...facets } = filter;
  const partition = requestsPartition(workspace);
  const lists =
    keys === undefined ? [requestList(facets)] : keys.map((key) => requestList({ ...facets, key }));
  const scope = [refusedRequestsModel, workspace, filter];
  const sent = pageToken === undefined ? undefined : decodeToken(pageToken, scope);
  const end = (await caughtUp(ports, refusedRequestsModel, 'list', { refusesEarly: true })) + 1;
  const head = await loadHead(ports.readModels, workspace);
  const { setBack } = head ? lastSetBack(head) : {};
  const since = setBack?.position ?? 0;
  let below =
    sent ?? (to === undefined ? end : await firstSince(ports.readModels, partition, laterBy(to), since, end));
  // Up to `since` times are in no order, but none is later than `latest`.
  const latest = setBack?.latest ?? '';
  const items: RefusedRequest[] = [];
  for (let scanned = 0; ; ) {
    const after = newestFirst(below);
    const chunks = await Promise.all(
      lists.map((list) =>
        ports.readModels.page(refusedRequestsModel, {
          partition,
          ...(list !== undefined && { list }),
          after,
          limit: CHUNK,
        }),
      ),
    );
    const rows = chunks
      .flat()
      .toSorted((a, b) => b.position - a.position)
      .slice(0, CHUNK);
    for (const { position, body } of rows) {
      if (from !== undefined && latest < from && (position <= since || laterBy(body.recordedAt) < from))
        return { items, next_page_token: null };
      if (items.length === limit || scanned === MAX_SCANNED) {
        return { items, next_page_token: encodeToken(below, scope) };
      }
      below = position;
      scanned += 1;
      const isWithin =
        (from === undefined || body.recordedAt >= from) && (to === undefined || body.recordedAt < to);
      if (isWithin && hasRequestFacets(body, facets)) items.push(body);
    }
    if (rows.length < CHUNK) return { items, next_page_token: null };
  }
}

/**
 * Returns how many refused requests a filter leaves; undefined when no list has exactly these. It may lag behind the log. Rejects
 * with `unavailable`.
 */
export async function countRefusedRequests(
  { readModels }: Pick<QueryPorts, 'readModels'>,
  workspace: string,
  { from, to, keys = [], ...facets }: RequestFilter,
): Promise<Total | undefined> {
  const [key, another] = keys;
  const isWhole = from === undefined && to === undefined && another === undefined;
  if (!isWhole || Object.values(facets).filter((one) => one !== undefined).length > 1) return undefined;
  const list = requestList({ ...facets, ...(key !== undefined && { key }) });
  const partition = requestsPartition(workspace);
  return totalOf(readModels, refusedRequestsModel, { partition, ...(list !== undefined && { list }) });
}

/** Returns the position between `since` and `end` from which on everything was refused at or after a time, by binary search. */
async function firstSince(
  readModels: ReadModels,
  partition: string,
  time: string,
  since: Position,
  end: Position,
): Promise<Position> {
  let [low, high] = [since + 1, end];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const query = { partition, after: newestFirst(middle + 1), limit: 1 };
    const [row] = await readModels.page(refusedRequestsModel, query);
    if (row === undefined || row.position <= since || row.body.recordedAt < time) low = middle + 1;
    else high = row.position;
  }
  return low;
}

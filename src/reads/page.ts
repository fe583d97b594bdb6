import { unavailable } from '../errors.ts';
import type { Position } from '../events/event.ts';
import type { ModelName, ReadModels, Row } from '../ports/readModels.ts';
import { validationError } from '../records/validate.ts';
import { growingPauses } from './growingPauses.ts';
import type { QueryPorts } from './readRecord.ts';

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
 * call: it waits for the projector, and rejects with `unavailable` when that is more than two seconds behind.
 */
export async function readPage<Body extends object>(
  ports: QueryPorts,
  model: ModelName<Body>,
  partition: string,
  request: PageRequest,
): Promise<Page<Row<Body>>> {
  const after = request.pageToken === undefined ? undefined : decodeToken(request.pageToken);
  const head = await caughtUp(ports, model);
  const found = await ports.readModels.page(model, {
    partition,
    ...(after !== undefined && { after }),
    limit: request.limit + 1,
  });
  // A batch beyond the checkpoint may be half written: a page that ended in it could skip rows still to come.
  const rows = found.filter(({ order }) => order <= head);
  const items = rows.slice(0, request.limit);
  const last = items.at(-1);
  return { items, next_page_token: rows.length > items.length && last ? encodeToken(last.order) : null };
}

/**
 * Waits until the read model, called `what` in errors, holds everything up to the log's head, and resolves with that
 * position. Rejects with `unavailable` when that takes more than two seconds.
 */
export async function caughtUp(
  { eventLog, readModels }: QueryPorts,
  model: string,
  what = 'list',
): Promise<Position> {
  const head = await eventLog.head();
  await untilReached(readModels, model, head, what);
  return head;
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
): Promise<void> {
  const deadline = performance.now() + CATCH_UP_TIMEOUT_MS;
  for (const pause = growingPauses(); (await readModels.checkpoint(model)) < position; await pause()) {
    if (performance.now() > deadline) throw unavailable(what);
  }
}

/** Returns a page token that carries one number; with a binding it is valid for one list only. */
export function encodeToken(order: number, binding?: string): string {
  const text = binding === undefined ? `1.${order}` : `2.${order}.${binding}`;
  return Buffer.from(text).toString('base64url');
}

/** Returns the number in a page token of the list that it is bound to. Throws `validation_failed`. */
export function decodeToken(token: string, binding?: string): number {
  const text = Buffer.from(token, 'base64url').toString();
  const [, form, order, bound] = /^([12])\.(\d{1,16})(?:\.([\w-]+))?$/.exec(text) ?? [];
  if (order === undefined || bound !== binding || (form === '2') !== (bound !== undefined)) {
    throw validationError([
      {
        field: 'page_token',
        message:
          'must be the next_page_token of an earlier page of the same list, with the same sorting and filters',
      },
    ]);
  }
  return Number(order);
}

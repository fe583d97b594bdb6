import { createHash } from 'node:crypto';
import type { Position } from '../../../domain/events/event.ts';
import { validationError } from '../../../domain/records/schema/validate.ts';
import { unavailable } from '../../../platform/errors.ts';
import type { ModelName, ReadModels, Row } from '../../../storage/readModels.ts';
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
  const scope = [model, partition];
  const after = request.pageToken === undefined ? undefined : decodeToken(request.pageToken, scope);
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
  return {
    items,
    next_page_token: rows.length > items.length && last ? encodeToken(last.order, scope) : null,
  };
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

/**
 * What a page token is valid for: a list's name, whose it is (workspace, stream or partition), and what selects and
 * sorts its items. Written as JSON; undefined members of objects don't count.
 */
export type TokenScope = readonly unknown[];

/** Returns a page token that carries a place, a whole number, in one list. */
export function encodeToken(place: number, scope: TokenScope): string {
  return Buffer.from(`4.${place}.${digestOf(scope)}`).toString('base64url');
}

/** Returns the place in a page token of this list. Throws `validation_failed` for a token of any other. */
export function decodeToken(token: string, scope: TokenScope): number {
  const text = Buffer.from(token, 'base64url').toString();
  const [, place, digest] = /^4\.(\d{1,16})\.([\w-]{22})$/.exec(text) ?? [];
  if (place === undefined || digest !== digestOf(scope)) {
    throw validationError([
      {
        field: 'page_token',
        message:
          'must be the next_page_token of an earlier page of the same list, with the same sorting and filters',
      },
    ]);
  }
  return Number(place);
}

function digestOf(scope: TokenScope): string {
  return createHash('sha256').update(JSON.stringify(scope)).digest('base64url').slice(0, 22);
}

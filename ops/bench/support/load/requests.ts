import { bodyOf, TURN_DIGITS } from './bodies.ts';
import type { Order } from './measuringProcess.ts';

/** Records that are drawn for each second of a load; which of them a request is of is drawn for each request. */
const DRAWN_A_SECOND = 10_000;
const MOST_DRAWN = 20_000;
/** Stands in a prepared request for the one field in which it differs from all others each time it is sent. */
export const TURN_MARK = '@'.repeat(TURN_DIGITS);

/** A request but for what all requests of an order have alike. */
export interface Prepared {
  path: string;
  /** An upsert's, with `TURN_MARK` in it; empty for a read. */
  body: string;
}

/** What an order sends: each record once, or records drawn at random. */
export function prepare({ kind, among, once, seconds, method = 'POST' }: Order): Prepared[] {
  const count = once ? among : Math.min(among, MOST_DRAWN, Math.ceil(seconds * DRAWN_A_SECOND));
  return Array.from({ length: count }, (_, index) => {
    const body = bodyOf(kind, once ? index : Math.floor(Math.random() * among), TURN_MARK);
    const path = `/integration/${kind}`;
    return method === 'POST' ? { path, body } : { path: `${path}/${JSON.parse(body).id}`, body: '' };
  });
}

/** The headers of an order's requests, but for the length of each. */
export function headersOf({ key, method = 'POST' }: Order): Record<string, string> {
  return { 'x-api-key': key, ...(method === 'POST' && { 'content-type': 'application/json' }) };
}

/**
 * The first number of an order for the field that differs: the microseconds of now, which grow faster than requests are
 * sent, so that no later order has one again.
 */
export function firstTurn(): number {
  return Math.round((performance.timeOrigin + performance.now()) * 1000);
}

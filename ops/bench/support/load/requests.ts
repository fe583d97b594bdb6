import { bodyOf, TURN_DIGITS } from './bodies.ts';
import type { Order } from './measuringProcess.ts';

/** Records drawn for each second of a load; which of them a request concerns is drawn for each request. */
const DRAWN_A_SECOND = 10_000;
const MOST_DRAWN = 20_000;
/** Stands in a prepared request for the one field that makes it different from all others each time it is sent. */
export const TURN_MARK = '@'.repeat(TURN_DIGITS);

/** A request without what all requests of an order have in common. */
export interface Prepared {
  path: string;
  /** The body of an upsert, with `TURN_MARK` in it; empty for a read. */
  body: string;
}

/** Returns what an order sends: each record once, or records drawn at random. */
export function prepare({ kind, among, once, seconds, method = 'POST' }: Order): Prepared[] {
  const count = once ? among : Math.min(among, MOST_DRAWN, Math.ceil(seconds * DRAWN_A_SECOND));
  return Array.from({ length: count }, (_, index) => {
    const body = bodyOf(kind, once ? index : Math.floor(Math.random() * among), TURN_MARK);
    const path = `/integration/${kind}`;
    return method === 'POST' ? { path, body } : { path: `${path}/${JSON.parse(body).id}`, body: '' };
  });
}

/** Returns the headers of an order's requests, without the length of each. */
export function headersOf({ key, method = 'POST' }: Order): Record<string, string> {
  return { 'x-api-key': key, ...(method === 'POST' && { 'content-type': 'application/json' }) };
}

/**
 * Returns the first number of an order for the field that differs: the current time in microseconds, which grows
 * faster than requests are sent, so that no later order uses a number again.
 */
export function firstTurn(): number {
  return Math.round((performance.timeOrigin + performance.now()) * 1000);
}

import { send } from './send.ts';

/** Requests a minute that the hostile key may make: the service's default. */
export const RATE_LIMIT = 100;
/** What the hostile key opens and leaves so, of its requests in a minute. */
export const STREAMS = 30;
export const BODIES = 6;
export const BATCHES = 6;
export const UPLOADS = 30;
export const WAITS = 10;

/** Sends one batch of payers; resolves with its response. */
export async function sendBatch(url: string, key: string, lines: number, filler: string): Promise<void> {
  const line = (n: number) =>
    JSON.stringify({ kind: 'payer', record: { id: `payer-${n}`, name: 'Aetna', address_line1: filler } });
  const body = Array.from({ length: lines }, (_, n) => `${line(n)}\n`).join('');
  const headers = { 'x-api-key': key, 'content-type': 'application/x-ndjson' };
  await send(url, false, { method: 'POST', path: '/integration/batch', headers, body });
}

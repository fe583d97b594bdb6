import type { Stores } from '../../bench/support/chartledger.ts';
import { bodyOf, PAYERS } from '../../bench/support/load/bodies.ts';
import { bodyOf as answerOf, send } from './send.ts';

/** Returns a line of a batch; `record` is JSON. */
export const lineOf = (kind: string, record: string) => `{"kind":"${kind}","record":${record}}\n`;

/** Returns lines for the payers that patients refer to. */
export function payers(): string[] {
  return Array.from({ length: PAYERS }, (_, n) => lineOf('payer', bodyOf('payers', n)));
}

/** Sends a batch, all of whose lines must be accepted. */
export async function sendLines(url: string, { key }: Stores, lines: string[]): Promise<void> {
  const headers = { 'x-api-key': key.key, 'content-type': 'application/x-ndjson' };
  const request = { method: 'POST', path: '/integration/batch', headers, body: lines.join('') };
  const answer = await send(url, false, request);
  const last = answer.bytes.toString().trimEnd().split('\n').at(-1) ?? '{}';
  const { summary } = answerOf({ ...answer, bytes: Buffer.from(last) });
  if (summary?.accepted !== lines.length) throw new Error(`a batch: ${answer.status} ${last}`);
}

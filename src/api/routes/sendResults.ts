import type { ServerResponse } from 'node:http';
import { drained } from '../server/sendEventStream.ts';
import type { OrderedResults } from './OrderedResults.ts';

/** A client that accepts nothing for this long is considered dead. */
const STALLED_MS = 30_000;

/** Sends the results of a batch at the client's pace; resolves when all were handed over, or the client is gone. */
export async function sendResults(res: ServerResponse, results: OrderedResults): Promise<void> {
  const closed = new AbortController();
  res.once('close', () => closed.abort());
  for await (const text of results.chunks()) {
    if (closed.signal.aborted || res.destroyed) return;
    if (res.write(text)) continue;
    const stalled = setTimeout(() => res.destroy(), STALLED_MS);
    await drained(res, closed.signal);
    clearTimeout(stalled);
  }
}

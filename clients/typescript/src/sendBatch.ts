import { ChartledgerError } from './ChartledgerError.ts';
import type { Connection } from './Connection.ts';
import type { BatchLine, BatchQuery, BatchResult, CallOptions } from './types.ts';

/** Characters of one request; the service takes more, but answers when it has all of them. */
const CHUNK_CHARACTERS = 4_000_000;

export interface BatchOptions extends CallOptions, BatchQuery {
  /** Lines of one request. Default 1,000. */
  chunkLines?: number;
}

/**
 * Sends records of all kinds, in requests of many lines, and gives what became of each, in the order in which they were sent; the
 * next ones are taken when those results have been. A refused line stops no other, and those that may be accepted later are sent
 * again. Rejects with `ChartledgerError` when a request fails as a whole; all lines before it have had their results.
 */
export async function* sendBatch(
  connection: Connection,
  records: Iterable<BatchLine> | AsyncIterable<BatchLine>,
  { chunkLines = 1_000, ...how }: BatchOptions = {},
): AsyncGenerator<BatchResult, void, undefined> {
  let sent = 0;
  for await (const lines of chunks(records, chunkLines)) {
    for (const result of await sendChunk(connection, lines, how)) {
      yield { ...result, line: sent + result.line };
    }
    sent += lines.length;
  }
}

async function* chunks(
  records: Iterable<BatchLine> | AsyncIterable<BatchLine>,
  most: number,
): AsyncGenerator<string[], void, undefined> {
  let lines: string[] = [];
  let characters = 0;
  for await (const record of records) {
    const line = `${JSON.stringify(record)}\n`;
    if (lines.length === most || (lines.length > 0 && characters + line.length > CHUNK_CHARACTERS)) {
      yield lines;
      lines = [];
      characters = 0;
    }
    lines.push(line);
    characters += line.length;
  }
  if (lines.length > 0) yield lines;
}

/** What became of each line, in their order, when those that may be accepted later were tried as often as any request. */
async function sendChunk(
  connection: Connection,
  lines: string[],
  how: CallOptions & BatchQuery,
): Promise<BatchResult[]> {
  const results = await send(connection, lines, how);
  for (let tries = 1; ; tries += 1) {
    const again = retried(results);
    if (again.length === 0) return results;
    const seconds = Math.max(...again.map(({ retryAfter = 0 }) => retryAfter));
    if (!(await connection.waitToRetry(tries, seconds, how.signal))) return results;
    const repeats = again.map(({ line }) => lines[line - 1] as string);
    try {
      for (const [index, result] of (await send(connection, repeats, how)).entries()) {
        const { line } = again[index] as BatchResult;
        results[line - 1] = { ...result, line };
      }
    } catch (error) {
      // The results of what is stored are due all the same.
      if (error instanceof ChartledgerError) return results;
      throw error;
    }
  }
}

/** The results of lines to send again: not those of a record of which a later line was stored, which they would undo. */
function retried(results: BatchResult[]): BatchResult[] {
  const stored = new Set<string>();
  const again: BatchResult[] = [];
  for (const result of results.toReversed()) {
    const record = `${result.kind}/${result.id}`;
    if (result.status === 200) stored.add(record);
    else if (result.retryable && !stored.has(record)) again.push(result);
  }
  return again.toReversed();
}

async function send(
  connection: Connection,
  lines: string[],
  { signal, ...query }: CallOptions & BatchQuery,
): Promise<BatchResult[]> {
  const options = { signal, timeoutSeconds: Number.POSITIVE_INFINITY };
  return connection.call(async (api) => {
    const { data, error, response } = await api.POST('/integration/batch', {
      params: { query },
      body: lines.join(''),
      bodySerializer: (body: unknown) => body,
      headers: { 'Content-Type': 'application/x-ndjson' },
      parseAs: 'text',
    });
    return { error, response, ...(data !== undefined && { data: resultsIn(data, lines.length) }) };
  }, options);
}

/** The results in an answer to so many lines. Throws when it was cut off. */
function resultsIn(text: string, count: number): BatchResult[] {
  const results = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const { summary } = results.pop() ?? {};
  if (summary === undefined || results.length !== count) throw new Error('the answer to a batch was cut off');
  return results;
}

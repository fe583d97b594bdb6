import type { Client, TestResponse } from './client.ts';

export const BATCH = '/integration/batch';

/** What became of a line of a batch. */
export interface LineResult {
  line: number;
  kind: string | null;
  id: string | null;
  status: number;
  code?: string;
  [field: string]: unknown;
}

/** The answer to a batch that was taken: a result for each line, in order, and the summary. */
export interface BatchAnswer extends TestResponse {
  results: LineResult[];
  summary: Record<string, unknown>;
}

/** Lines as text: a text is a line as it is. */
export function linesOf(lines: readonly (object | string)[]): string {
  return lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('');
}

/** Sends a body of JSON lines. */
export function postLines(
  client: Client,
  body: string | Buffer,
  headers: Record<string, string> = {},
): Promise<TestResponse> {
  return client.send(BATCH, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/x-ndjson', ...headers },
  });
}

/** The results in an answer, which must be a whole one. */
export function answerOf(response: TestResponse): BatchAnswer {
  if (response.status !== 200)
    throw new Error(`the batch was answered with ${response.status}: ${response.text}`);
  const told = response.text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
  const { summary } = told.pop() ?? {};
  if (summary === undefined) throw new Error('the answer has no summary');
  return { ...response, results: told, summary };
}

/** Sends a batch that is taken. */
export async function sendBatch(
  client: Client,
  lines: readonly (object | string)[],
  headers?: Record<string, string>,
): Promise<BatchAnswer> {
  return answerOf(await postLines(client, linesOf(lines), headers));
}

import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NewEvent } from '../../src/domain/events/event.ts';
import { ServiceError } from '../../src/platform/errors.ts';
import type { Appended, EventLog } from '../../src/storage/eventLog.ts';

export const BATCH = '/integration/batch';

/** What became of a line of a batch. */
interface LineResult {
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

export interface TestResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  bytes: Buffer;
  /** The bytes as UTF-8. */
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers are asserted on, field by field
  body: any;
}

interface Options {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
}

/**
 * How texts begin by which the service tells that it has not caught up with what was written: it lags behind, or a read was overtaken. On a
 * busy machine, the server of the read models that all suites share does not always answer in time, either.
 */
const lagging = new RegExp(
  `^Th(?:e|is) (?:${[
    ...[
      'audit trail',
      'certificate cannot',
      'hash tree is',
      'list',
      'readiness',
      'report',
      'search',
      'snapshot',
    ],
    ...(process.env.TEST_PHASE === 'production' ? ['read model store'] : []),
  ].join('|')}) `,
);

/** For how long a list that lags behind is asked for, and how often. */
const ASK_MS = 30_000;
const PAUSE_MS = 250;

/**
 * Asks again while a read model lags that the projector has not updated in time, for a while, as callers are told to: a busy machine
 * is no failure of the service. `errorOf` gives the text of an answer that is an error.
 */
export async function retryWhileLagging<Answer>(
  ask: () => Promise<Answer>,
  errorOf: (answer: Answer) => string | undefined,
): Promise<Answer> {
  for (const until = performance.now() + ASK_MS; ; await sleep(PAUSE_MS)) {
    const answer = await ask();
    if (performance.now() > until || !lagging.test(errorOf(answer) ?? '')) return answer;
  }
}

function lagOf({ status, body }: TestResponse): string | undefined {
  return status === 503 ? body?.error : undefined;
}

/** Speaks HTTP to a service. Paths go out to the letter (`..` and `%2E` too), which `fetch` would change. */
export class Client {
  url: string;
  readonly key: string | undefined;

  constructor(url: string, key: string | undefined) {
    this.url = url;
    this.key = key;
  }

  /** Asks again while a read model lags (`retryWhileLagging`). */
  get(path: string, headers: Record<string, string> = {}): Promise<TestResponse> {
    return retryWhileLagging(() => this.send(path, { headers }), lagOf);
  }

  delete(path: string, headers: Record<string, string> = {}): Promise<TestResponse> {
    return this.send(path, { method: 'DELETE', headers });
  }

  /** Posts a value as JSON; again while a read model lags (`retryWhileLagging`). */
  post(path: string, value: unknown, headers: Record<string, string> = {}): Promise<TestResponse> {
    const body = JSON.stringify(value);
    const request = { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } };
    return retryWhileLagging(() => this.send(path, request), lagOf);
  }

  /** Sends a JSON Merge Patch. */
  patch(path: string, value: unknown, headers: Record<string, string> = {}): Promise<TestResponse> {
    return this.send(path, {
      method: 'PATCH',
      body: JSON.stringify(value),
      headers: { 'content-type': 'application/merge-patch+json', ...headers },
    });
  }

  /** Posts a form; its parts arrive in this order. */
  async upload(path: string, form: FormData, headers: Record<string, string> = {}): Promise<TestResponse> {
    const encoded = new Response(form);
    const body = Buffer.from(await encoded.arrayBuffer());
    return this.send(path, {
      method: 'POST',
      body,
      headers: { 'content-type': encoded.headers.get('content-type') ?? '', ...headers },
    });
  }

  /** Sends a request; rejects only when there is no answer. */
  send(path: string, { method = 'GET', headers = {}, body }: Options = {}): Promise<TestResponse> {
    const { hostname, port } = new URL(this.url);
    const key = this.key === undefined ? {} : { 'x-api-key': this.key };
    return new Promise((resolve, reject) => {
      const outgoing = request(
        { hostname, port, path, method, headers: { ...key, ...headers }, agent: false },
        (res) => {
          const chunks: Buffer[] = [];
          res.on('data', (chunk) => chunks.push(chunk));
          res.on('error', reject);
          res.on('end', () => {
            const bytes = Buffer.concat(chunks);
            const text = bytes.toString();
            const isPlain = res.headers['content-encoding'] === undefined && text !== '';
            const isJson = isPlain && /^application\/(?:fhir\+)?json/.test(res.headers['content-type'] ?? '');
            resolve({
              status: res.statusCode ?? 0,
              headers: res.headers,
              bytes,
              text,
              body: isJson ? JSON.parse(text) : undefined,
            });
          });
        },
      );
      outgoing.on('error', reject);
      outgoing.end(body);
    });
  }
}

/** Sends an event until it is acknowledged, as a caller does who is told to come back; `refused` is called each time. */
export async function sendUntilAccepted(
  log: EventLog,
  stream: string,
  event: NewEvent,
  refused: () => void = () => undefined,
): Promise<Appended> {
  for (;;) {
    try {
      return await log.append(stream, event, 'any');
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'unavailable') throw error;
      refused();
    }
  }
}

/** Searches with a key. */
export function search(client: Client, asked: object): Promise<TestResponse> {
  return client.post('/integration/search', asked);
}

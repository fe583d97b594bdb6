import createClient, { type Client, defaultPathSerializer } from 'openapi-fetch';
import { ChartledgerError } from './ChartledgerError.ts';
import type { FhirPaths } from './fhir.ts';
import type { paths } from './generated/api.ts';
import { backoffSeconds, orAborted, pause } from './pause.ts';
import type { CallOptions } from './types.ts';

export interface ChartledgerOptions {
  /** Where the service is, such as `https://chartledger.example.com`. */
  url: string;
  apiKey: string;
  /** How often a request is sent again that got no response, or one that may pass (408, 429, 5xx). Default 5. */
  maxRetries?: number;
  /** The longest single wait before that, in seconds; when the service asks for more, the call fails. Default 60. */
  maxWaitSeconds?: number;
  /**
   * Seconds that one try may take, and a snapshot or the event stream until its response begins; files and batches take what they
   * need. Default 60.
   */
  timeoutSeconds?: number;
  /** Default: that of the platform. */
  fetch?: (request: Request) => Promise<Response>;
}

/** The service's paths, typed by its OpenAPI document, and those of FHIR. */
export type Api = Client<paths & FhirPaths>;

/** What openapi-fetch makes of an answer. */
export interface Answer<Data> {
  data?: Data;
  error?: unknown;
  response: Response;
}

/** What a request was answered with. */
export interface Reply<Data> {
  data: Data;
  response: Response;
}

export interface AttemptOptions extends CallOptions {
  idempotency_key?: string | undefined;
  /** Default: that of the connection; `Infinity` for what may last. */
  timeoutSeconds?: number;
}

/** Names the client to the service, whose audit trail has it: the package and its version. */
const USER_AGENT = 'chartledger-client-typescript/0.1.0';

/** Sends requests to a service with a key. */
export class Connection {
  readonly #options: Required<ChartledgerOptions>;
  /** How often a request is sent again at most. */
  readonly maxRetries: number;

  /** Throws `TypeError` when the URL is none, or the key cannot be one. */
  constructor(options: ChartledgerOptions) {
    new URL(options.url);
    new Headers({ 'x-api-key': options.apiKey });
    this.#options = {
      maxRetries: 5,
      maxWaitSeconds: 60,
      timeoutSeconds: 60,
      fetch: (request) => fetch(request),
      ...options,
    };
    this.maxRetries = this.#options.maxRetries;
  }

  /** As `send`, without the response. */
  async call<Data>(send: (api: Api) => Promise<Answer<Data>>, options: AttemptOptions = {}): Promise<Data> {
    return (await this.send(send, options)).data;
  }

  /**
   * Carries out a request, again with the same `Idempotency-Key` where that may help. Rejects with `ChartledgerError`, or with the
   * signal's reason.
   */
  async send<Data>(
    send: (api: Api) => Promise<Answer<Data>>,
    options: AttemptOptions = {},
  ): Promise<Reply<Data>> {
    const named = { ...options, idempotency_key: options.idempotency_key ?? crypto.randomUUID() };
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.attempt(send, named);
      } catch (error) {
        if (!(error instanceof ChartledgerError && error.retryable)) throw error;
        if (!(await this.waitToRetry(tries, error.retryAfter, options.signal))) throw error;
      }
    }
  }

  /**
   * Waits after try number `tries`, for `retryAfter` seconds at least; false, at once, when it was the last one or that would be too
   * long. Rejects with the signal's reason.
   */
  async waitToRetry(tries: number, retryAfter = 0, signal?: AbortSignal): Promise<boolean> {
    const { maxWaitSeconds } = this.#options;
    const seconds = Math.max(retryAfter, backoffSeconds(tries));
    if (tries > this.maxRetries || seconds > maxWaitSeconds) return false;
    await pause(seconds, signal);
    return true;
  }

  /** Carries out a request once. Rejects as `send` does. */
  async attempt<Data>(
    send: (api: Api) => Promise<Answer<Data>>,
    options: AttemptOptions,
  ): Promise<Reply<Data>> {
    const { url, apiKey, fetch, timeoutSeconds } = this.#options;
    const { signal, idempotency_key: idempotencyKey } = options;
    const limit = new AbortController();
    const late = new DOMException('No response came in time.', 'TimeoutError');
    const seconds = options.timeoutSeconds ?? timeoutSeconds;
    const timer = Number.isFinite(seconds) ? setTimeout(() => limit.abort(late), seconds * 1_000) : undefined;
    const ends = AbortSignal.any([limit.signal, ...(signal ? [signal] : [])]);
    let sent = false;
    const api = createClient<paths & FhirPaths>({
      baseUrl: url,
      headers: { 'x-api-key': apiKey, 'User-Agent': USER_AGENT },
      // Otherwise a write would arrive as a read, which succeeds, or elsewhere, with the key.
      redirect: 'manual',
      signal: ends,
      pathSerializer: pathOf,
      fetch(request) {
        sent = true;
        if (idempotencyKey && request.method !== 'GET')
          request.headers.set('Idempotency-Key', idempotencyKey);
        return fetch(request);
      },
    });
    const { data, error, response } = await orAborted(send(api), ends)
      .catch((error) => {
        signal?.throwIfAborted();
        throw sent ? ChartledgerError.noAnswer(error) : error;
      })
      // A response that is read as a stream has begun; it may take what it needs.
      .finally(() => clearTimeout(timer));
    if (!response.ok) throw ChartledgerError.of(response, error);
    // A gateway may answer for the service. Only lines, of which there are none, are an empty body.
    if (data === undefined && !response.headers.get('content-type')?.startsWith('application/x-ndjson')) {
      throw ChartledgerError.noAnswer(new Error(`the response with status ${response.status} has no body`));
    }
    return { data: (data ?? '') as Data, response };
  }
}

/** The path with these ids in it. Throws `TypeError` for one with which it would be the path of something else. */
function pathOf(path: string, ids: Record<string, unknown>): string {
  if (Object.values(ids).some((id) => /^\.{0,2}$/.test(String(id)))) {
    throw new TypeError('An id in a path must not be empty, "." or "..".');
  }
  return defaultPathSerializer(path, ids);
}

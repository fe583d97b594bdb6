import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { version } from '../../platform/version.ts';
import { terminal } from '../../server/terminal.ts';
import { CommandError } from './CommandError.ts';
import { failureOf, parseJson, retryAfterSeconds } from './httpFailure.ts';

/** The service does not answer, or cannot at the moment: it can be retried. */
export class ServiceAway extends CommandError {}

const ANSWER_TIMEOUT_MS = 60_000;

const refusedSchema = z.object({
  error: z.string(),
  code: z.string().optional(),
  retryAfter: z.number().optional(),
});

export interface ServiceClientOptions {
  /** Address of the service. */
  url: URL;
  key: string;
  /** Ends every request and wait. */
  signal?: AbortSignal | undefined;
}

export interface GetOptions {
  /** Parameters; undefined ones are omitted. */
  query?: Record<string, string | number | undefined>;
  accept?: string;
  /** Sent as JSON in a POST: for what must not be in a URL. */
  body?: object;
  /** Ends this request, including the response's body. */
  signal?: AbortSignal;
}

/** Reads from a service with an API key. */
export class ServiceClient {
  readonly #options: ServiceClientOptions;

  constructor(options: ServiceClientOptions) {
    this.#options = options;
  }

  /**
   * Returns the response to a GET request, or to a POST if there is a body, with status 200; waits as long as a service that
   * limits requests says. Rejects with `ServiceAway`, with `CommandError` when the service refuses, and with an `AbortError`
   * after a signal.
   */
  async get(
    path: string,
    { query = {}, accept = 'application/json', body, signal }: GetOptions = {},
  ): Promise<Response> {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) search.set(name, String(value));
    }
    const url = `${this.#address}${path}?${search.toString()}`;
    for (;;) {
      const response = await this.#fetch(url, accept, body, signal);
      if (response.status === 200) return response;
      const refused = refusedSchema.safeParse(parseJson(await response.text().catch(() => ''))).data;
      if (response.status !== 429) throw this.#refusal(response.status, refused?.error);
      await this.#wait(retryAfterSeconds(refused?.retryAfter ?? response.headers.get('retry-after')), signal);
    }
  }

  /** Returns the JSON body of the response returned by `get`; rejects as that does. */
  async getJson<Body>(schema: z.ZodType<Body>, path: string, options: GetOptions = {}): Promise<Body> {
    const response = await this.get(path, options);
    const body = schema.safeParse(parseJson(await this.textOf(response, options.signal)));
    if (!body.success) throw this.#stranger(response.status);
    return body.data;
  }

  /** Returns the body of such a response. Rejects with `ServiceAway` when it breaks off, and with an `AbortError` after a signal. */
  async textOf(response: Response, signal?: AbortSignal): Promise<string> {
    try {
      return await response.text();
    } catch {
      for (const one of [signal, this.#options.signal]) one?.throwIfAborted();
      throw new ServiceAway(
        `The response of the service at ${this.#address} broke off. Run the command again.`,
      );
    }
  }

  get #address(): string {
    return this.#options.url.href.replace(/\/$/, '');
  }

  async #fetch(
    url: string,
    accept: string,
    body: object | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Response> {
    const ended = [signal, this.#options.signal].filter((one) => one !== undefined);
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new DOMException('', 'TimeoutError')), ANSWER_TIMEOUT_MS);
    try {
      return await fetch(url, {
        headers: {
          ...{ 'x-api-key': this.#options.key, accept, 'user-agent': `chartledger-cli/${version}` },
          ...(body && { 'content-type': 'application/json' }),
        },
        ...(body && { method: 'POST', body: JSON.stringify(body) }),
        redirect: 'manual',
        signal: AbortSignal.any([late.signal, ...ended]),
      });
    } catch (error) {
      for (const one of ended) one.throwIfAborted();
      throw new ServiceAway(
        `The service at ${this.#address} does not respond (${failureOf(error)}). Is it running? To change the address, use --url.`,
      );
    } finally {
      clearTimeout(timer);
    }
  }

  async #wait(seconds: number, signal: AbortSignal | undefined): Promise<void> {
    terminal().stderr.write(`The service limits requests; continuing in ${seconds} s.\n`);
    const ended = [signal, this.#options.signal].filter((one) => one !== undefined);
    await sleep(seconds * 1000, undefined, { signal: AbortSignal.any(ended) });
  }

  #refusal(status: number, error: string | undefined): CommandError {
    if (status >= 500) {
      const why = error === undefined ? '' : `: ${error}`;
      return new ServiceAway(
        `The service at ${this.#address} cannot respond at the moment (${status})${why}`,
      );
    }
    if (error === undefined) return this.#stranger(status);
    if (status === 401 || status === 403) {
      return new CommandError(`The service refused the API key (${status}): ${error}`);
    }
    return new CommandError(`The service refused the request (${status}): ${error}`);
  }

  #stranger(status: number): CommandError {
    return new CommandError(
      `${this.#address} answered with ${status}, which is not a response of a Chartledger service. Check the address in --url.`,
    );
  }
}

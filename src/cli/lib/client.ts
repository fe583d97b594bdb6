import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { parseJson } from '../../domain/events/event.ts';
import { looksLikeApiKey } from '../../modules/auth/apiKeys.ts';
import { version } from '../../platform/version.ts';
import { purposeStatement } from '../../server/operator.ts';
import { terminal } from '../../server/terminal.ts';
import { ofFile } from './files.ts';
import { CommandError } from './terminal.ts';

/** The pause after 429 responses that do not say how long. */
const DEFAULT_PAUSE_SECONDS = 5;

/** How long commands wait for a service that cannot respond at the moment: a projector takes so long to catch up at most. */
const PATIENCE_SECONDS = 120;
/** For so long they say nothing of it. */
const QUIET_SECONDS = 10;

/** Returns the seconds that a 429 or 503 response asks to wait. */
export function retryAfterSeconds(retryAfter: number | string | null | undefined): number {
  const value = Number(retryAfter ?? Number.NaN);
  return value > 0 && Number.isFinite(value) ? value : DEFAULT_PAUSE_SECONDS;
}

/** Returns why `fetch` got no response, such as `ECONNREFUSED`. */
export function failureOf(error: unknown): string {
  const { name, cause } = error as { name?: string; cause?: { code?: string; message?: string } };
  return name === 'TimeoutError' ? 'no answer in time' : (cause?.code ?? cause?.message ?? 'no connection');
}

/** The service does not answer, or cannot at the moment: it can be retried. */
export class ServiceAway extends CommandError {}

const ANSWER_TIMEOUT_MS = 60_000;

/**
 * Returns the response to a request, which has to begin within a minute; its body may take longer. Rejects as `fetch` does, with a
 * `TimeoutError` after that time, and once a signal aborts.
 */
export async function fetchAnswer(
  address: string,
  ended: readonly AbortSignal[],
  init: RequestInit,
): Promise<Response> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new DOMException('', 'TimeoutError')), ANSWER_TIMEOUT_MS);
  try {
    return await fetch(address, { ...init, signal: AbortSignal.any([late.signal, ...ended]) });
  } finally {
    clearTimeout(timer);
  }
}

const refusedSchema = z.object({
  error: z.string(),
  code: z.string().optional(),
  retryAfter: z.number().optional(),
});

interface ServiceClientOptions {
  /** Address of the service. */
  url: URL;
  key: string;
  /** Ends every request and wait. */
  signal?: AbortSignal | undefined;
  /** Sent with every request; `user-agent` replaces that of this program. */
  headers?: Record<string, string>;
  /** How many seconds a service that cannot respond at the moment, and says when to ask again, is waited for. Default: 0. */
  patience?: number;
}

interface GetOptions {
  /** Parameters; undefined ones are omitted. */
  query?: Record<string, string | number | undefined>;
  accept?: string;
  /** Sent as JSON in a POST: for what must not be in a URL. */
  body?: object;
  /** Opens JSON Lines to POST; the response may begin before they end. */
  lines?: () => Readable;
  /** Ends this request, including the response's body. */
  signal?: AbortSignal;
}

interface SentBody {
  type: string;
  content: NonNullable<RequestInit['body']>;
}

function jsonOf(body: object | undefined): SentBody | undefined {
  return body && { type: 'application/json', content: JSON.stringify(body) };
}

/** Reads from a service with an API key. */
export class ServiceClient {
  readonly #options: ServiceClientOptions;

  constructor(options: ServiceClientOptions) {
    this.#options = options;
  }

  /**
   * Returns the response to a GET request, or to a POST if there is a body, with status 200; waits as long as a service that
   * limits requests says, and for one that cannot respond at the moment within its patience. Rejects with `ServiceAway`, with
   * `CommandError` when the service refuses, and with an `AbortError` after a signal.
   */
  async get(
    path: string,
    { query = {}, accept = 'application/json', body, lines, signal }: GetOptions = {},
  ): Promise<Response> {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) search.set(name, String(value));
    }
    const url = `${this.#address}${path}?${search.toString()}`;
    let awaySince: number | undefined;
    let isSaid = false;
    for (;;) {
      const sent = lines ? { type: 'application/x-ndjson', content: Readable.toWeb(lines()) } : jsonOf(body);
      const response = await this.#fetch(url, accept, sent, signal);
      if (response.status === 200) return response;
      const refused = refusedSchema.safeParse(parseJson(await response.text().catch(() => ''))).data;
      const retryAfter = refused?.retryAfter ?? response.headers.get('retry-after');
      const seconds = retryAfterSeconds(retryAfter);
      const refusal = this.#refusal(response.status, refused?.error);
      if (response.status === 429) {
        awaySince = undefined;
        terminal().stderr.write(`The service limits requests; continuing in ${seconds} s.\n`);
      } else {
        const { patience = 0 } = this.#options;
        awaySince ??= performance.now();
        const waited = (performance.now() - awaySince) / 1_000;
        if (response.status !== 503 || retryAfter === null || waited + seconds > patience) throw refusal;
        // A projector that catches up takes moments.
        if (!isSaid && waited + seconds >= QUIET_SECONDS) {
          terminal().stderr.write(`${refusal.message} It is asked again.\n`);
          isSaid = true;
        }
      }
      await this.#wait(seconds, signal);
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
      throw this.#brokenOff(signal);
    }
  }

  /** Yields the lines of the body of such a response. Rejects as `textOf` does. */
  async *linesOf({ body }: Response): AsyncGenerator<string> {
    let rest = '';
    try {
      for await (const text of body?.pipeThrough(new TextDecoderStream()) ?? []) {
        const lines = `${rest}${text}`.split('\n');
        rest = lines.pop() as string;
        yield* lines;
      }
    } catch {
      throw this.#brokenOff();
    }
    if (rest !== '') yield rest;
  }

  #brokenOff(signal?: AbortSignal): ServiceAway {
    for (const one of [signal, this.#options.signal]) one?.throwIfAborted();
    return new ServiceAway(
      `The response of the service at ${this.#address} broke off. Run the command again.`,
    );
  }

  get #address(): string {
    return this.#options.url.href.replace(/\/$/, '');
  }

  async #fetch(
    url: string,
    accept: string,
    sent: SentBody | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Response> {
    const ended = [signal, this.#options.signal].filter((one) => one !== undefined);
    try {
      return await fetchAnswer(url, ended, {
        headers: {
          ...{ 'x-api-key': this.#options.key, accept, 'user-agent': `chartledger-cli/${version}` },
          ...this.#options.headers,
          ...(sent && { 'content-type': sent.type }),
        },
        ...(sent && { method: 'POST', body: sent.content, duplex: 'half' }),
        redirect: 'manual',
      });
    } catch (error) {
      for (const one of ended) one.throwIfAborted();
      throw new ServiceAway(
        `The service at ${this.#address} does not respond (${failureOf(error)}). Is it running? To change the address, use --url.`,
      );
    }
  }

  async #wait(seconds: number, signal: AbortSignal | undefined): Promise<void> {
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

/** The environment variable that contains the key. */
const KEY_VARIABLE = 'CHARTLEDGER_API_KEY';

/** The environment variable with the address of the service. */
const URL_VARIABLE = 'CHARTLEDGER_URL';
const DEFAULT_URL = 'http://127.0.0.1:3000';

/** How a command reaches a service. */
export interface ServiceOptions {
  url?: URL;
  keyFile?: string;
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol) && !url.search && !url.hash) return url;
  throw new InvalidArgumentError('Specify an address such as http://127.0.0.1:3000.');
}

/** Adds the options by which a command reaches a service; `permission` is the one that the key needs. */
export function addServiceOptions(command: Command, permission: string): Command {
  return command
    .option(
      '--url <url>',
      `the address of the service (default: ${URL_VARIABLE}, otherwise ${DEFAULT_URL})`,
      parseUrl,
    )
    .option(
      '--key-file <file>',
      `a file with the API key, which needs the permission ${permission} (default: the key in ` +
        `${KEY_VARIABLE})`,
    );
}

/** Returns the address given by an option, otherwise in the environment. Ends the command with a usage error when that is no address. */
export function requireUrl(command: Command, url: URL | undefined): URL {
  try {
    return url ?? parseUrl(terminal().env[URL_VARIABLE] || DEFAULT_URL);
  } catch {
    return command.error(`error: ${URL_VARIABLE} must be an address such as ${DEFAULT_URL}`);
  }
}

/**
 * Returns the key given in a file, otherwise in the environment, otherwise `otherwise`. Ends the command with a usage error when
 * there is none, or it is not a key; it is not shown. Rejects with `conflict` when the file cannot be read.
 */
export async function requireKey(
  command: Command,
  keyFile: string | undefined,
  otherwise?: string,
): Promise<string> {
  const given =
    keyFile === undefined
      ? (otherwise ?? terminal().env[KEY_VARIABLE])
      : await ofFile(keyFile, () => readFile(keyFile, 'utf8'));
  const key = given?.trim();
  if (!key) {
    command.error(
      `error: specify the API key in the environment variable ${KEY_VARIABLE}, or in a file with --key-file`,
    );
  }
  if (!looksLikeApiKey(key)) {
    command.error('error: the key is not an API key of Chartledger, or is incomplete; it begins with clk_');
  }
  return key;
}

/** Returns a text as a header can carry it. */
export function ascii(text: string): string {
  return text.normalize('NFKD').replace(/[^\x20-\x7e]/g, '');
}

/** Returns a client for the service and key given by the options; ends and rejects as `requireKey` does. */
export async function serviceClient(
  command: Command,
  { url, keyFile }: ServiceOptions,
  signal?: AbortSignal,
): Promise<ServiceClient> {
  const address = requireUrl(command, url);
  const statement = purposeStatement();
  return new ServiceClient({
    ...{ url: address, key: await requireKey(command, keyFile), signal, patience: PATIENCE_SECONDS },
    ...(statement && { headers: { 'purpose-statement': ascii(statement) } }),
  });
}

import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { parseJson } from '../../../domain/events/event.ts';
import { type AssertionKey, signAssertion } from '../../../modules/auth/signAssertion.ts';
import { version } from '../../../platform/version.ts';
import { failureOf, fetchAnswer } from '../../lib/client.ts';
import { CommandError } from '../../lib/terminal.ts';

const ATTEMPTS = 6;
/** How long to wait where an answer does not say. */
const DEFAULT_WAIT_SECONDS = 10;
const MAX_WAIT_SECONDS = 600;
/** A token is replaced this long before its end. */
const MARGIN_MS = 30_000;

const tokenSchema = z.object({
  access_token: z.string(),
  expires_in: z.number().positive().default(300),
});
const smartSchema = z.object({ token_endpoint: z.url() });
const oauthErrorSchema = z.object({ error: z.string() });

/** How an EMR knows this client. */
export interface Client {
  /** The address of its FHIR interface. */
  fhir: URL;
  clientId: string;
  key: AssertionKey;
  /** Space-separated. */
  scope: string;
  /** Address of its token endpoint; default: as its SMART configuration says. */
  tokenUrl: string | undefined;
}

/** Returns the seconds that a `Retry-After` asks to wait: a number, or a date (RFC 9110, 10.2.3). */
export function waitSeconds(header: string | null, now: number): number {
  if (header === null) return DEFAULT_WAIT_SECONDS;
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - now) / 1000;
  return Number.isFinite(seconds) ? Math.min(MAX_WAIT_SECONDS, Math.max(0, seconds)) : DEFAULT_WAIT_SECONDS;
}

/** The FHIR interface of an EMR, as a client authorized by SMART Backend Services (SMART App Launch 2). */
export class Emr {
  readonly #client: Client;
  readonly #signal: AbortSignal;
  #token: { text: string; endsAt: number } | undefined;

  constructor(client: Client, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
  }

  /** Returns an address below that of the interface. */
  address(path: string, query: Record<string, string | undefined> = {}): string {
    const url = new URL(`${this.#client.fhir.href.replace(/\/$/, '')}/${path}`);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, value);
    return url.href;
  }

  /** Whether an address belongs to the same server. */
  isOwn(address: string): boolean {
    return URL.canParse(address) && new URL(address).origin === this.#client.fhir.origin;
  }

  /**
   * Returns the response to a request, once the EMR has one: it is asked again while it limits requests or is unavailable. A
   * `withToken` of false sends no token. Rejects with `CommandError` when it refuses or cannot be reached.
   */
  async request(
    address: string,
    {
      withToken = true,
      method = 'GET',
      headers = {},
    }: { withToken?: boolean; method?: 'GET' | 'DELETE'; headers?: object } = {},
  ): Promise<Response> {
    for (let failures = 0; ; ) {
      const token = withToken && { authorization: `Bearer ${await this.#validToken()}` };
      const answer = await this.#fetch(address, {
        method,
        headers: { accept: 'application/fhir+json', ...headers, ...token },
      });
      if (answer instanceof Response && answer.ok) return answer;
      failures += 1;
      const isFinal =
        answer instanceof Response && answer.status < 500 && ![401, 429].includes(answer.status);
      if (isFinal || failures === ATTEMPTS || (isRefused(answer) && failures > 1))
        throw this.#refusal(answer);
      if (isRefused(answer)) this.#token = undefined;
      else await this.#wait(answer instanceof Response ? answer.headers.get('retry-after') : null);
    }
  }

  /** Waits as long as a `Retry-After` says. Rejects with an `AbortError` after the signal. */
  async #wait(header: string | null): Promise<void> {
    await sleep(waitSeconds(header, Date.now()) * 1000, undefined, { signal: this.#signal });
  }

  /** Waits until a job may be asked about again. Rejects as above. */
  waitFor(response: Response): Promise<void> {
    return this.#wait(response.headers.get('retry-after'));
  }

  async #validToken(): Promise<string> {
    if (this.#token && this.#token.endsAt > Date.now()) return this.#token.text;
    const { clientId, key, scope } = this.#client;
    const tokenUrl = this.#client.tokenUrl ?? (await this.#discover());
    const answer = await this.#fetch(tokenUrl, {
      method: 'POST',
      headers: { accept: 'application/json' },
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        scope,
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: await signAssertion(key, { clientId, tokenUrl }),
      }),
    });
    const body = answer instanceof Response ? parseJson(await answer.text()) : undefined;
    const token = tokenSchema.safeParse(body);
    if (!(answer instanceof Response) || !answer.ok || !token.success) {
      const code = oauthErrorSchema.safeParse(body).data?.error ?? statusOf(answer);
      throw new CommandError(
        `The EMR issued no token (${code}). Check the client id, the scopes, and that the EMR has the public key of the client key.`,
      );
    }
    const { access_token: text, expires_in: seconds } = token.data;
    this.#token = { text, endsAt: Date.now() + seconds * 1000 - Math.min(MARGIN_MS, seconds * 500) };
    return text;
  }

  async #discover(): Promise<string> {
    const answer = await this.#fetch(this.address('.well-known/smart-configuration'), {
      headers: { accept: 'application/json' },
    });
    const body = answer instanceof Response && answer.ok ? parseJson(await answer.text()) : undefined;
    const found = smartSchema.safeParse(body);
    if (found.success) return found.data.token_endpoint;
    throw new CommandError(
      `The EMR has no SMART configuration at ${this.address('.well-known/smart-configuration')} (${statusOf(answer)}). Name its token endpoint with --token-url.`,
    );
  }

  /** Returns the response, or why there was none. */
  async #fetch(address: string, init: RequestInit): Promise<Response | string> {
    try {
      return await fetchAnswer(address, [this.#signal], {
        ...init,
        headers: { ...init.headers, 'user-agent': `chartledger-pull/${version}` },
        redirect: 'error',
      });
    } catch (error) {
      this.#signal.throwIfAborted();
      return failureOf(error);
    }
  }

  #refusal(answer: Response | string): CommandError {
    const { href } = this.#client.fhir;
    return answer instanceof Response && answer.status < 500
      ? new CommandError(`The EMR at ${href} refused the request (${answer.status}).`)
      : new CommandError(
          `The EMR at ${href} does not respond (${statusOf(answer)}). Run the command again: it resumes where it stopped.`,
        );
  }
}

function isRefused(answer: Response | string): boolean {
  return answer instanceof Response && answer.status === 401;
}

function statusOf(answer: Response | string): string {
  return answer instanceof Response ? `status ${answer.status}` : answer;
}

import { Agent, type Dispatcher, errors } from 'undici';
import { type Clock, systemClock } from '../../ports/clock.ts';
import type { AddressRules } from '../settings/addressRules.ts';
import { createConnector, NameNotResolved, RefusedAddress, TlsFailed } from './createConnector.ts';
import { createNameResolver, type ResolveName } from './resolveName.ts';

/** For one try, from the look-up of the name to the end of the answer. */
export const SEND_TIMEOUT_MS = 15_000;
/** Of an answer's body; the rest is not waited for. */
const MAX_ANSWER_BYTES = 64 * 1024;
const KEPT_ANSWER_CHARACTERS = 1_000;
/** A character takes at most four bytes in UTF-8. */
const KEPT_ANSWER_BYTES = KEPT_ANSWER_CHARACTERS * 4;

/**
 * Why a try brought no message home, beside what a status says: no answer in time, an address or protocol that is not
 * allowed, a name without address, no trusted TLS connection, no connection or one that broke, an answer that is a
 * redirect (which is not followed) or no HTTP, or the caller's signal.
 */
export const attemptErrors = [
  'timeout',
  'refused_address',
  'dns',
  'tls',
  'connection',
  'redirect',
  'invalid_answer',
  'aborted',
] as const;
export type AttemptError = (typeof attemptErrors)[number];

/** What came of one try to deliver a message. */
export interface Attempt {
  /** When it began, ISO 8601 in UTC. */
  at: string;
  durationMs: number;
  /** Of the answer, whenever there was one. 200 to 299: delivered. */
  status?: number;
  /** Never together with a status, but for `redirect`. */
  error?: AttemptError;
  /** The first 1,000 characters of the answer's body, which holds whatever the endpoint likes. */
  answer?: string;
  /** What the answer's `Retry-After` says. */
  retryAfterSeconds?: number;
}

export interface WebhookSenderOptions {
  addresses: AddressRules;
  resolve?: ResolveName;
  timeoutMs?: number;
  clock?: Clock;
}

/** The time is over, or the caller's signal ended the try. */
class Ended extends Error {
  readonly reason: AttemptError;

  constructor(reason: AttemptError) {
    super(reason);
    this.reason = reason;
  }
}

/** Posts messages to endpoints, which are strangers: to allowed addresses alone, within bounds of time and size. */
export class WebhookSender {
  readonly #agent: Agent;
  readonly #timeoutMs: number;
  readonly #clock: Clock;

  constructor({
    addresses,
    resolve = createNameResolver(),
    timeoutMs = SEND_TIMEOUT_MS,
    clock = systemClock,
  }: WebhookSenderOptions) {
    this.#timeoutMs = timeoutMs;
    this.#clock = clock;
    this.#agent = new Agent({
      connect: createConnector({ addresses, resolve, timeoutMs }),
      // What counts is the time for the whole try, below.
      headersTimeout: 0,
      bodyTimeout: 0,
      // However long an endpoint would like idle connections to be kept.
      keepAliveMaxTimeout: 30_000,
    });
  }

  /**
   * One try to deliver; never rejects. `signal` breaks it off. There are as many connections to an endpoint as messages
   * on their way to it, so that none waits for another: it is for the caller to bound them.
   */
  async send(
    url: string,
    headers: Record<string, string>,
    body: string,
    signal: AbortSignal,
  ): Promise<Attempt> {
    const at = new Date(this.#clock.now()).toISOString();
    const startedAt = performance.now();
    const ended = new AbortController();
    const { promise: over, reject } = Promise.withResolvers<never>();
    const end = (reason: AttemptError) => {
      reject(new Ended(reason));
      ended.abort();
    };
    const timer = setTimeout(end, this.#timeoutMs, 'timeout');
    const abort = () => end('aborted');
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
    let outcome: Outcome;
    try {
      const request = this.#request(url, headers, body, ended.signal);
      // While it connects, the client heeds no signal.
      outcome = await this.#outcomeOf(await Promise.race([over, request]));
    } catch (error) {
      outcome = { error: errorOf(error as NodeJS.ErrnoException) };
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    }
    return { at, durationMs: Math.round(performance.now() - startedAt), ...outcome };
  }

  /** Breaks off whatever is on its way. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #request(url: string, headers: Record<string, string>, body: string, signal: AbortSignal) {
    const { protocol, origin, pathname, search } = new URL(url);
    if (protocol !== 'https:' && protocol !== 'http:') throw new RefusedAddress();
    return this.#agent.request({ origin, path: pathname + search, method: 'POST', headers, body, signal });
  }

  async #outcomeOf({ statusCode: status, headers, body }: Dispatcher.ResponseData): Promise<Outcome> {
    const retryAfterSeconds = parseRetryAfter(
      headers['retry-after'],
      dateOf(headers.date) ?? this.#clock.now(),
    );
    return {
      status,
      ...(status >= 300 && status < 400 && { error: 'redirect' }),
      answer: await readAnswer(body),
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    };
  }
}

type Outcome = Omit<Attempt, 'at' | 'durationMs'>;

/** The beginning of a body, as far as it comes before the time is over. */
async function readAnswer(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      if (bytes < KEPT_ANSWER_BYTES) chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > MAX_ANSWER_BYTES) break;
    }
  } catch {
    // The status says all that matters.
  }
  const text = Buffer.concat(chunks).subarray(0, KEPT_ANSWER_BYTES).toString('utf8');
  // Somebody may look at it on a terminal.
  return text
    .slice(0, KEPT_ANSWER_CHARACTERS)
    .toWellFormed()
    .replace(/[^\P{Cc}\n\t]/gu, ' ');
}

const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** A date of HTTP in milliseconds since 1970; undefined when it is none. */
function dateOf(value: string | string[] | undefined): number | undefined {
  return typeof value === 'string' && HTTP_DATE.test(value) ? Date.parse(value) : undefined;
}

/** Seconds to wait from `now` on, by RFC 9110, section 10.2.3: a number of them, or a date; undefined when it is neither. */
function parseRetryAfter(value: string | string[] | undefined, now: number): number | undefined {
  if (typeof value !== 'string') return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value);
  const date = dateOf(value);
  return date === undefined ? undefined : Math.max(0, Math.ceil((date - now) / 1000));
}

function errorOf(error: NodeJS.ErrnoException): AttemptError {
  const { HTTPParserError, HeadersOverflowError, ConnectTimeoutError } = errors;
  if (error instanceof Ended) return error.reason;
  if (error instanceof RefusedAddress || error.code === 'ERR_INVALID_URL') return 'refused_address';
  if (error instanceof NameNotResolved) return 'dns';
  if (error instanceof TlsFailed) return 'tls';
  if (error instanceof ConnectTimeoutError || error.code === 'ETIMEDOUT') return 'timeout';
  if (error instanceof HTTPParserError || error instanceof HeadersOverflowError) return 'invalid_answer';
  return 'connection';
}

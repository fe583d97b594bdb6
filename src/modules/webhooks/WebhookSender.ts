import { Agent, type Dispatcher, errors } from 'undici';
import { type Clock, systemClock } from '../../storage/clock.ts';
import type { AddressRules } from './addressRules.ts';
import type { Attempt, AttemptError } from './attempt.ts';
import { createConnector, NameNotResolved, RefusedAddress, TlsFailed } from './createConnector.ts';
import { createNameResolver, type ResolveName } from './resolveName.ts';

/** For one attempt, from the name look-up to the end of the response. */
export const SEND_TIMEOUT_MS = 15_000;
/** Of a response body; the rest is not waited for. */
const MAX_ANSWER_BYTES = 64 * 1024;
const KEPT_ANSWER_CHARACTERS = 1_000;
/** A character takes at most four bytes in UTF-8. */
const KEPT_ANSWER_BYTES = KEPT_ANSWER_CHARACTERS * 4;

export interface WebhookSenderOptions {
  addresses: AddressRules;
  resolve?: ResolveName;
  timeoutMs?: number;
  clock?: Clock;
}

/** The time is up, or the caller's signal ended the attempt. */
class Ended extends Error {
  readonly reason: AttemptError;

  constructor(reason: AttemptError) {
    super(reason);
    this.reason = reason;
  }
}

/** Posts messages to endpoints, which are not trusted: only to allowed addresses, within bounds of time and size. */
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
      // What counts is the time limit for the whole attempt, below.
      headersTimeout: 0,
      bodyTimeout: 0,
      // However long an endpoint asks for idle connections to be kept.
      keepAliveMaxTimeout: 30_000,
    });
  }

  /**
   * Makes one attempt to deliver; never rejects. `signal` aborts it. `onSent` is called once a connection is established, before
   * the message is written: never for an attempt that reached nobody. There are as many connections to an endpoint as
   * messages on their way to it, so that none waits for another: bounding their number is up to the caller.
   */
  async send(
    url: string,
    headers: Record<string, string>,
    body: string,
    signal: AbortSignal,
    onSent?: () => void,
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
      const request = this.#request(url, headers, body, ended.signal, onSent);
      // While it connects, the client ignores signals.
      outcome = await this.#outcomeOf(await Promise.race([over, request]));
    } catch (error) {
      outcome = { error: errorOf(error as NodeJS.ErrnoException) };
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    }
    return { at, durationMs: Math.round(performance.now() - startedAt), ...outcome };
  }

  /** Aborts everything under way. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #request(
    url: string,
    headers: Record<string, string>,
    body: string,
    signal: AbortSignal,
    onSent: () => void = () => undefined,
  ) {
    const { protocol, origin, pathname, search } = new URL(url);
    if (protocol !== 'https:' && protocol !== 'http:') throw new RefusedAddress();
    const agent = this.#agent.compose(
      (dispatch) => (options, handler) =>
        dispatch(options, {
          onRequestStart(controller, context) {
            onSent();
            handler.onRequestStart?.(controller, context);
          },
          onResponseStart: (...args) => handler.onResponseStart?.(...args),
          onResponseData: (...args) => handler.onResponseData?.(...args),
          onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
          onResponseError: (...args) => handler.onResponseError?.(...args),
        }),
    );
    return agent.request({ origin, path: pathname + search, method: 'POST', headers, body, signal });
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

/** Reads the beginning of a body, as far as it arrives before the time is up. */
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
  // Somebody may view it on a terminal.
  return text
    .slice(0, KEPT_ANSWER_CHARACTERS)
    .toWellFormed()
    .replace(/[^\P{Cc}\n\t]/gu, ' ');
}

const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** Returns an HTTP date in milliseconds since 1970; undefined when it is not one. */
function dateOf(value: string | string[] | undefined): number | undefined {
  return typeof value === 'string' && HTTP_DATE.test(value) ? Date.parse(value) : undefined;
}

/**
 * Returns the seconds to wait from `now` on, by RFC 9110, section 10.2.3: a number of seconds, or a date; undefined
 * when it is neither.
 */
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

import { Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import type { Agent, buildConnector, Dispatcher } from 'undici';
import { loadOnce } from '../../platform/retry.ts';
import { type Clock, systemClock } from '../../storage/rateLimiters.ts';
import type { Attempt, AttemptError } from './attempts.ts';
import { type EgressPolicy, isLocalName } from './settings.ts';

/** The connection would have gone to an address to which messages may not be sent. */
class RefusedAddress extends Error {
  constructor() {
    super('the address is not an allowed destination');
    this.name = 'RefusedAddress';
  }
}

/** The endpoint's name has no address. */
class NameNotResolved extends Error {
  constructor() {
    super('the host name has no address');
    this.name = 'NameNotResolved';
  }
}

/** The endpoint was reached, but no trusted TLS connection could be established. */
class TlsFailed extends Error {
  constructor(cause: Error) {
    super('no trusted TLS connection could be established', { cause });
    this.name = 'TlsFailed';
  }
}

interface ConnectorOptions {
  addresses: EgressPolicy;
  resolve: ResolveName;
  timeoutMs: number;
}

/**
 * Looks a name up once, and hands on its addresses only when all of them are allowed: no other address is connected
 * to.
 */
function checkedLookup({ addresses, resolve }: ConnectorOptions, protocol: string): LookupFunction {
  const checked = async (hostname: string) => {
    const found = await resolve(hostname).catch(() => []);
    if (found.length === 0) throw new NameNotResolved();
    if (!found.every((address) => addresses.allows(address, protocol))) throw new RefusedAddress();
    return found.map((address) => ({ address, family: isIP(address) }));
  };
  return (hostname, _options, callback) => {
    checked(hostname).then(
      (found) => callback(null, found),
      (error) => callback(error, []),
    );
  };
}

/** Socket errors name a system call; certificate and handshake errors do not. */
function isTlsError(error: NodeJS.ErrnoException): boolean {
  if (error instanceof RefusedAddress || error instanceof NameNotResolved) return false;
  if (error instanceof AggregateError || error.code?.startsWith('UND_ERR_')) return false;
  return error.syscall === undefined || error.code === 'EPROTO';
}

/**
 * Returns a connector that connects a client only to allowed addresses: a literal address is checked beforehand, the
 * addresses of a name between look-up and connection, and the connected address once more. Fails with
 * `RefusedAddress`, `NameNotResolved`, `TlsFailed`, or as the socket does.
 */
function createConnector(options: ConnectorOptions, build: typeof buildConnector): buildConnector.connector {
  const { addresses, timeoutMs } = options;
  const connectorFor = (protocol: string) =>
    build({
      timeout: timeoutMs,
      rejectUnauthorized: true,
      // Resolves all addresses at once, and moves on to the next when one does not respond (RFC 8305).
      autoSelectFamily: true,
      lookup: checkedLookup(options, protocol),
    });
  const [https, http] = [connectorFor('https:'), connectorFor('http:')];
  return (target, callback) => {
    const { hostname, protocol } = target;
    if (isIP(hostname) !== 0 && !addresses.allows(hostname, protocol)) {
      queueMicrotask(() => callback(new RefusedAddress(), null));
      return;
    }
    const secure = protocol === 'https:';
    const connect = secure ? https : http;
    connect(target, (error, socket) => {
      if (error !== null) {
        callback(secure && isTlsError(error) ? new TlsFailed(error) : error, null);
      } else if (addresses.allows(socket.remoteAddress ?? '', protocol)) {
        callback(null, socket);
      } else {
        socket.destroy();
        callback(new RefusedAddress(), null);
      }
    });
  };
}

/** Resolves with all addresses of a name; rejects, or resolves with none, when none can be found. */
export type ResolveName = (hostname: string) => Promise<string[]>;

/** For each query to a name server: with two of them, everything takes 8 seconds at most. */
const TRY_MS = 2_000;
const TRIES = 2;

/**
 * Queries name servers: the given ones, or those of the machine. The machine's resolver (getaddrinfo) is not used: it
 * occupies one of the process's few threads for as long as a name server takes, so an endpoint with a slow one would
 * hold up everything else.
 */
export function createNameResolver(servers?: readonly string[]): ResolveName {
  // The time would otherwise double with every try.
  const resolver = new Resolver({ timeout: TRY_MS, tries: TRIES, maxTimeout: TRY_MS });
  if (servers) resolver.setServers(servers);
  return async (hostname) => {
    if (isLocalName(hostname)) return ['127.0.0.1'];
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  };
}

/** For one attempt, from the name look-up to the end of the response. */
const SEND_TIMEOUT_MS = 15_000;
/** Of a response body; the rest is not waited for. */
const MAX_ANSWER_BYTES = 64 * 1024;
const STORED_ANSWER_CHARACTERS = 1_000;
/** A character takes at most four bytes in UTF-8. */
const STORED_ANSWER_BYTES = STORED_ANSWER_CHARACTERS * 4;

export interface WebhookSenderOptions {
  addresses: EgressPolicy;
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
  readonly #connection: ConnectorOptions;
  readonly #agent = loadOnce(() => this.#openAgent());
  #opened: Agent | undefined;
  #isClosed = false;
  readonly #clock: Clock;

  constructor({
    addresses,
    resolve = createNameResolver(),
    timeoutMs = SEND_TIMEOUT_MS,
    clock = systemClock,
  }: WebhookSenderOptions) {
    this.#connection = { addresses, resolve, timeoutMs };
    this.#clock = clock;
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
    const timer = setTimeout(end, this.#connection.timeoutMs, 'timeout');
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
    this.#isClosed = true;
    await this.#opened?.destroy();
  }

  /** The client's hundred modules are loaded with the first message: most services start without one to send. */
  async #openAgent(): Promise<Agent> {
    const { Agent, buildConnector } = await import('undici');
    if (this.#isClosed) throw new Error('the sender is closed');
    this.#opened = new Agent({
      connect: createConnector(this.#connection, buildConnector),
      // What counts is the time limit for the whole attempt, above.
      headersTimeout: 0,
      bodyTimeout: 0,
      // However long an endpoint asks for idle connections to be kept.
      keepAliveMaxTimeout: 30_000,
    });
    return this.#opened;
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
    const agent = (await this.#agent()).compose(
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
      if (bytes < STORED_ANSWER_BYTES) chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > MAX_ANSWER_BYTES) break;
    }
  } catch {
    // The status says all that matters.
  }
  const text = Buffer.concat(chunks).subarray(0, STORED_ANSWER_BYTES).toString('utf8');
  // Somebody may view it on a terminal.
  return text
    .slice(0, STORED_ANSWER_CHARACTERS)
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
  if (error instanceof Ended) return error.reason;
  if (error instanceof RefusedAddress || error.code === 'ERR_INVALID_URL') return 'refused_address';
  if (error instanceof NameNotResolved) return 'dns';
  if (error instanceof TlsFailed) return 'tls';
  if (error.name === 'ConnectTimeoutError' || error.code === 'ETIMEDOUT') return 'timeout';
  if (error.name === 'HTTPParserError' || error.name === 'HeadersOverflowError') return 'invalid_answer';
  return 'connection';
}

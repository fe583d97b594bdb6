import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { failureOf, parseJson, retryAfterSeconds } from '../service/httpFailure.ts';
import { outcomeSchema, refusalIn } from './fhir/outcome.ts';
import { ImportError, NothingTaken } from './importSource.ts';

export interface ClientOptions {
  /** Address of the service. */
  url: URL;
  key: string;
  userAgent: string;
  /** No new request begins after it, and waits end. */
  stop: AbortSignal;
  /** Requests under way are broken off. */
  abandon: AbortSignal;
  /** Called, with a line for people, whenever something makes the import wait. */
  onWait: (reason: string) => void;
  retries?: Retries;
}

export interface Retries {
  /** Times that one thing may fail, the first included. */
  attempts: number;
  firstDelayMs: number;
  /** The delay doubles up to here. */
  maxDelayMs: number;
}

/** A request that may be sent several times; under its key, if it has one, it is written once. */
export interface Sending {
  path: string;
  idempotencyKey?: string;
  headers?: Record<string, string>;
  /** Makes the body anew for each try. */
  body: () => Uint8Array<ArrayBuffer> | Promise<FormData>;
}

export interface Answer {
  status: number;
  text: string;
  /** There was an earlier try under the same key. */
  isRepeat: boolean;
}

/** An answer, or why there was none; `retryAfter` in seconds. */
type Outcome = (Answer & { retryAfter: number; code: string | undefined }) | { failure: string };

const defaultRetries: Retries = { attempts: 10, firstDelayMs: 500, maxDelayMs: 30_000 };
const REQUEST_TIMEOUT_MS = 120_000;
/** The service waited in vain for the whole of a body. */
const REQUEST_TIMEOUT = 408;

const ownSchema = z.object({
  error: z.string(),
  code: z.string().optional(),
  details: z.unknown().optional(),
  retryAfter: z.number().optional(),
});

/** A refusal, in the service's form or in FHIR's. */
export const refusedSchema = z.union([
  ownSchema,
  outcomeSchema.transform((outcome): z.infer<typeof ownSchema> => refusalIn(outcome)),
]);

/**
 * Sends what an import sends, again where that is safe. 429 pauses all requests for as long as the service says; a service
 * that is away or failing (5xx, 408) is tried again with growing delays, and so is a connection that breaks.
 */
export class ImportClient {
  readonly #options: ClientOptions;
  readonly retries: Retries;
  #pause: Promise<void> | undefined;
  #lastAnswerAt = Number.NEGATIVE_INFINITY;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.retries = options.retries ?? defaultRetries;
  }

  /**
   * The last answer. Rejects with `ImportError` when going on makes no sense: the key is refused, the address is not that of a
   * service, or nothing at all has been answered while this was tried as often as allowed. Rejects with an `AbortError`
   * after `stop`.
   */
  async send(sending: Sending): Promise<Answer> {
    const startedAt = performance.now();
    for (let failures = 0; ; ) {
      await this.#pause;
      this.#options.stop.throwIfAborted();
      const outcome = await this.#post(sending);
      if ('failure' in outcome || outcome.status >= 500 || outcome.status === REQUEST_TIMEOUT) {
        failures++;
        if (failures === this.retries.attempts) return this.#giveUp(outcome, startedAt);
        await this.delay(failures, reasonOf(outcome));
      } else if (outcome.status === 429) {
        await this.pause(outcome.retryAfter);
      } else if (outcome.code === 'idempotency_key_in_use') {
        // An earlier try, whose connection broke, is still under way.
        await this.#sleep(outcome.retryAfter * 1000);
      } else {
        this.#lastAnswerAt = performance.now();
        this.#requireService(outcome);
        return outcome;
      }
    }
  }

  /** Waits, and makes all others wait, for as long as the service says. */
  async pause(forSeconds: number): Promise<void> {
    if (this.#pause === undefined) {
      this.#options.onWait(`the service limits requests; continuing in ${forSeconds} s`);
      this.#pause = this.#sleep(forSeconds * 1000).finally(() => {
        this.#pause = undefined;
      });
    }
    await this.#pause;
  }

  /** Waits before another try after so many that failed. */
  async delay(failures: number, reason: string): Promise<void> {
    const { firstDelayMs, maxDelayMs } = this.retries;
    const longest = Math.min(maxDelayMs, firstDelayMs * 2 ** (failures - 1));
    this.#options.onWait(`${this.#options.url.href} cannot accept records (${reason}); trying again`);
    // Half of it by chance, so that those who failed together do not come back together.
    await this.#sleep(longest * (0.5 + Math.random() / 2));
  }

  /** What ends an import whose service cannot take records. */
  away(reason: string): ImportError {
    return new ImportError(
      `${this.#options.url.href} cannot accept records (${reason}). When it can, run the same import again: it resumes where it stopped.`,
    );
  }

  /** What ends an import that speaks to something else. */
  stranger(status: number): NothingTaken {
    return new NothingTaken(
      `${this.#options.url.href} answered with ${status}, which is not a response of a Chartledger service. Check the address in --url.`,
    );
  }

  async #post({ path, idempotencyKey, headers, body }: Sending): Promise<Outcome> {
    const { url, key, userAgent, abandon } = this.#options;
    try {
      const response = await fetch(`${url.href.replace(/\/$/, '')}${path}`, {
        method: 'POST',
        headers: {
          ...headers,
          ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
          'x-api-key': key,
          'user-agent': userAgent,
        },
        body: await body(),
        redirect: 'manual',
        signal: AbortSignal.any([abandon, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]),
      });
      const { status } = response;
      const text = await response.text();
      const refused = status === 200 ? undefined : refusedSchema.safeParse(parseJson(text)).data;
      const told = refused?.retryAfter ?? response.headers.get('retry-after');
      const isRepeat = response.headers.has('idempotent-replayed');
      return { status, text, isRepeat, code: refused?.code, retryAfter: retryAfterSeconds(told) };
    } catch (error) {
      abandon.throwIfAborted();
      if (error instanceof ImportError) throw error;
      return { failure: failureOf(error) };
    }
  }

  #requireService({ status, text }: Pick<Answer, 'status' | 'text'>): void {
    if (status === 200) return;
    const { data: refused } = refusedSchema.safeParse(parseJson(text));
    if (refused === undefined || status < 400 || status === 405) throw this.stranger(status);
    if (status === 401 || status === 403) {
      throw new NothingTaken(`The service refused the API key (${status}): ${refused.error}`);
    }
  }

  #giveUp(outcome: Outcome, startedAt: number): Answer {
    if ('failure' in outcome || this.#lastAnswerAt < startedAt) throw this.away(reasonOf(outcome));
    return outcome;
  }

  #sleep(ms: number): Promise<void> {
    return sleep(ms, undefined, { signal: this.#options.stop });
  }
}

function reasonOf(outcome: Outcome): string {
  return 'failure' in outcome ? outcome.failure : `status ${outcome.status}`;
}

import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { FieldMessage } from '../../errors.ts';
import { failureOf, parseJson, retryAfterSeconds } from '../service/httpFailure.ts';
import { ImportError } from './importSource.ts';

/** What became of one record. */
export type SendResult =
  | { accepted: true; outcome: string; warnings: FieldMessage[] }
  | { accepted: false; status: number | null; error: string; details?: unknown };

export interface SenderOptions {
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
  /** Requests for one record that may fail, the first included. */
  attempts: number;
  firstDelayMs: number;
  /** The delay doubles up to here. */
  maxDelayMs: number;
}

interface Answer {
  status: number;
  body: unknown;
  retryAfterSeconds: number;
}

const defaultRetries: Retries = { attempts: 10, firstDelayMs: 500, maxDelayMs: 30_000 };
const REQUEST_TIMEOUT_MS = 60_000;

const acceptedSchema = z.object({
  success: z.literal(true),
  outcome: z.string().default(''),
  warnings: z.array(z.object({ field: z.string(), message: z.string() })).default([]),
});
const refusedSchema = z.object({
  error: z.string(),
  details: z.unknown().optional(),
  retryAfter: z.number().optional(),
});

/**
 * Sends records to a service, from any number of callers at once. 429 pauses all of them for as long as the service
 * says; a service that is away or failing (5xx) is tried again with growing delays.
 */
export class RecordSender {
  readonly #options: SenderOptions;
  readonly #retries: Retries;
  #pause: Promise<void> | undefined;
  #lastAnswerAt = Number.NEGATIVE_INFINITY;

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#retries = options.retries ?? defaultRetries;
  }

  /**
   * Sends one record; `plural` is its kind's name in paths. Rejects with `ImportError` when going on makes no sense:
   * the key is refused, the address is not that of a service, or nothing has been answered while this record was
   * tried as often as allowed. Rejects with an `AbortError` after `stop`.
   */
  async send(plural: string, record: unknown): Promise<SendResult> {
    const startedAt = performance.now();
    let failures = 0;
    for (;;) {
      await this.#pause;
      this.#options.stop.throwIfAborted();
      const answer = await this.#post(plural, record);
      if (typeof answer !== 'string' && answer.status === 429) {
        await this.#pauseAll(answer.retryAfterSeconds);
        continue;
      }
      if (typeof answer !== 'string' && answer.status < 500) {
        this.#lastAnswerAt = performance.now();
        return this.#judge(answer);
      }
      failures++;
      if (failures === this.#retries.attempts) return this.#giveUp(answer, startedAt);
      await this.#delay(failures, answer);
    }
  }

  /** The answer, or why there was none. */
  async #post(plural: string, record: unknown): Promise<Answer | string> {
    const { url, key, userAgent, abandon } = this.#options;
    try {
      const response = await fetch(`${url.href.replace(/\/$/, '')}/integration/${plural}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': key, 'user-agent': userAgent },
        body: JSON.stringify(record),
        redirect: 'manual',
        signal: AbortSignal.any([abandon, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]),
      });
      const text = await response.text();
      const body = parseJson(text);
      const told = refusedSchema.safeParse(body).data?.retryAfter ?? response.headers.get('retry-after');
      return { status: response.status, body, retryAfterSeconds: retryAfterSeconds(told) };
    } catch (error) {
      abandon.throwIfAborted();
      return failureOf(error);
    }
  }

  #judge({ status, body }: Answer): SendResult {
    const accepted = acceptedSchema.safeParse(body);
    if (status === 200 && accepted.success) {
      const { outcome, warnings } = accepted.data;
      return { accepted: true, outcome, warnings };
    }
    const { data: refused } = refusedSchema.safeParse(body);
    if (refused && (status === 401 || status === 403)) {
      throw new ImportError(`The service refuses the API key (${status}): ${refused.error}`);
    }
    if (refused && status >= 400 && status !== 404 && status !== 405) {
      const { error, details } = refused;
      return { accepted: false, status, error, ...(details !== undefined && { details }) };
    }
    throw new ImportError(
      `${this.#options.url.href} answers with ${status}, not as a Chartledger service does. Check the address given with --url.`,
    );
  }

  #giveUp(answer: Answer | string, startedAt: number): SendResult {
    const reason = reasonOf(answer);
    if (this.#lastAnswerAt < startedAt) {
      throw new ImportError(
        `${this.#options.url.href} cannot take records (${reason}). Import again when it can: records sent twice do no harm.`,
      );
    }
    const status = typeof answer === 'string' ? null : answer.status;
    return {
      accepted: false,
      status,
      error: `Given up after ${this.#retries.attempts} attempts: ${reason}.`,
    };
  }

  async #pauseAll(forSeconds: number): Promise<void> {
    if (this.#pause === undefined) {
      this.#options.onWait(`the service limits requests; going on in ${forSeconds} s`);
      this.#pause = sleep(forSeconds * 1000, undefined, { signal: this.#options.stop }).finally(() => {
        this.#pause = undefined;
      });
    }
    await this.#pause;
  }

  async #delay(failures: number, answer: Answer | string): Promise<void> {
    const { firstDelayMs, maxDelayMs } = this.#retries;
    const longest = Math.min(maxDelayMs, firstDelayMs * 2 ** (failures - 1));
    this.#options.onWait(`${this.#options.url.href} cannot take records (${reasonOf(answer)}); trying again`);
    // Half of it by chance, so that those who failed together do not come back together.
    await sleep(longest * (0.5 + Math.random() / 2), undefined, { signal: this.#options.stop });
  }
}

function reasonOf(answer: Answer | string): string {
  return typeof answer === 'string' ? answer : `status ${answer.status}`;
}

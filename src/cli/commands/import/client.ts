import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { parseJson } from '../../../domain/events/event.ts';
import type { FieldMessage } from '../../../platform/errors.ts';
import { version } from '../../../platform/version.ts';
import { failureOf, retryAfterSeconds } from '../../lib/client.ts';
import { ImportDelayed, ImportError, NothingAccepted } from './source.ts';

/** The parts of an OperationOutcome (FHIR R4, 2.28) that are reported. */
export const outcomeSchema = z.object({
  resourceType: z.literal('OperationOutcome'),
  issue: z
    .array(
      z.object({
        severity: z.string(),
        code: z.string(),
        diagnostics: z.string().default(''),
        expression: z.array(z.string()).default([]),
      }),
    )
    .min(1),
});

type Outcome = z.infer<typeof outcomeSchema>;

/** Returns the warnings about something that was accepted, by element. */
export function remarksIn(outcome: Outcome): FieldMessage[] {
  return messagesOf(outcome, 'warning');
}

/** Returns why something was refused, as in the REST API. */
export function refusalIn(outcome: Outcome): { error: string; code?: string; details: FieldMessage[] } {
  const details = messagesOf(outcome, 'error');
  const isReference = outcome.issue.some(({ code }) => code === 'not-found');
  return {
    error: details[0]?.message ?? 'refused',
    ...(isReference && { code: 'reference_not_found' }),
    details,
  };
}

function messagesOf({ issue }: Outcome, wanted: string): FieldMessage[] {
  return issue.flatMap(({ severity, expression, diagnostics }) =>
    severity === wanted ? [{ field: expression[0] ?? '', message: diagnostics }] : [],
  );
}

interface ClientOptions {
  /** Address of the service. */
  url: URL;
  key: string;
  userAgent: string;
  /** When aborted, no new requests are made, and waits end. */
  stop: AbortSignal;
  /** When aborted, requests under way are broken off. */
  abandon: AbortSignal;
  /** Called with a message for users whenever the import has to wait. */
  onWait: (reason: string) => void;
  retries?: Retries;
  /** How long a request may take, unless it `isLong`. */
  requestMs?: number;
}

interface Retries {
  /** Maximum number of failures of one request, including the first try. */
  attempts: number;
  firstDelayMs: number;
  /** The delay doubles up to this limit. */
  maxDelayMs: number;
}

/** A request that may be sent several times; if it has a key, it is written only once. */
interface Sending {
  path: string;
  idempotencyKey?: string;
  headers?: Record<string, string>;
  /** It may take as long as the service allows for an upload. */
  isLong?: true;
  /** Creates a new body for each try. */
  body: () => Uint8Array<ArrayBuffer> | Promise<FormData>;
}

export interface Answer {
  status: number;
  text: string;
  /** Whether there was an earlier try with the same key. */
  isRepeat: boolean;
}

/** A response, or why there was none; `retryAfter` in seconds. */
type Attempt = (Answer & { retryAfter: number; code: string | undefined }) | { failure: string };

const defaultRetries: Retries = { attempts: 10, firstDelayMs: 500, maxDelayMs: 30_000 };
const REQUEST_MS = 120_000;
/** 250 MB take long on slow links: the service waits for an hour. */
const LONG_REQUEST_MS = 3_660_000;
/** The service timed out waiting for the complete body. */
const REQUEST_TIMEOUT = 408;

const ownSchema = z.object({
  error: z.string(),
  code: z.string().optional(),
  details: z.unknown().optional(),
  retryAfter: z.number().optional(),
});

/** An error response, in the service's format or FHIR's. */
export const refusedSchema = z.union([
  ownSchema,
  outcomeSchema.transform((outcome): z.infer<typeof ownSchema> => refusalIn(outcome)),
]);

/**
 * Sends an import's requests, repeating them if that is safe. 429 pauses all requests for as long as the service says; an
 * unavailable or failing service (5xx, 408) is retried with growing delays, and so are broken connections.
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
   * Returns the last response. Rejects with `ImportError` when it is pointless to continue: the key is refused, there is no such
   * service at the address, or nothing has been answered in the maximum number of tries. Rejects with an `AbortError` after
   * `stop`.
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

  /** Waits before another try after a number of failures. */
  async delay(failures: number, reason: string): Promise<void> {
    const { firstDelayMs, maxDelayMs } = this.retries;
    const longest = Math.min(maxDelayMs, firstDelayMs * 2 ** (failures - 1));
    this.#options.onWait(`${this.#options.url.href} cannot accept records (${reason}); trying again`);
    // Half of it is random, so that those that failed together do not return together.
    await this.#sleep(longest * (0.5 + Math.random() / 2));
  }

  /** The error for a service that cannot accept records. */
  away(reason: string): ImportDelayed {
    return new ImportDelayed(
      `${this.#options.url.href} cannot accept records (${reason}). When it can, run the same import again: it resumes where it stopped.`,
    );
  }

  /** The error for an address with something else. */
  stranger(status: number): NothingAccepted {
    return new NothingAccepted(
      `${this.#options.url.href} answered with ${status}, which is not a response of a Chartledger service. Check the address in --url.`,
    );
  }

  async #post({ path, idempotencyKey, headers, isLong, body }: Sending): Promise<Attempt> {
    const { url, key, userAgent, abandon, requestMs = REQUEST_MS } = this.#options;
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
        signal: AbortSignal.any([abandon, AbortSignal.timeout(isLong ? LONG_REQUEST_MS : requestMs)]),
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
      throw new NothingAccepted(`The service refused the API key (${status}): ${refused.error}`);
    }
  }

  #giveUp(outcome: Attempt, startedAt: number): Answer {
    if ('failure' in outcome || this.#lastAnswerAt < startedAt) throw this.away(reasonOf(outcome));
    return outcome;
  }

  #sleep(ms: number): Promise<void> {
    return sleep(ms, undefined, { signal: this.#options.stop });
  }
}

function reasonOf(outcome: Attempt): string {
  return 'failure' in outcome ? outcome.failure : `status ${outcome.status}`;
}

/**
 * Returns what `read` makes of a response; one that was cut off, for which it returns undefined, is requested again. Rejects as
 * `ImportClient.send` does.
 */
export async function wholeAnswer<Value>(
  client: ImportClient,
  sending: Sending,
  read: (answer: Answer) => Value | undefined,
): Promise<Value> {
  for (let failures = 0; ; ) {
    const value = read(await client.send(sending));
    if (value !== undefined) return value;
    failures++;
    if (failures === client.retries.attempts) throw client.away('answers are cut off');
    await client.delay(failures, 'an answer was cut off');
  }
}

/** The error for rows that are refused together. */
export function refusedBatch(client: ImportClient, { status, text }: Answer): ImportError {
  const refused = refusedSchema.safeParse(parseJson(text)).data;
  if (refused === undefined || status === 404) return client.stranger(status);
  if (status >= 500) return client.away(`status ${status}`);
  return new ImportError(
    `The service refused a batch (${status}): ${refused.error} Start over with --fresh, or send to a service of this version.`,
  );
}

/** A file that was imported, as `POST /integration/imports` takes it. */
export interface ImportedFile {
  sha256: string;
  format: 'csv' | 'fhir' | 'hl7v2' | 'ndjson';
  origin: 'bulk_export' | 'search' | 'folder';
  accepted: number;
  rejected: number;
}

/**
 * Adds a file to the audit trail of the workspace, once for its name, which must be unique to the import. Rejects as
 * `ImportClient.send` does.
 */
export async function recordImportedFile(
  { url, key }: { url: URL; key: string },
  file: ImportedFile,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const userAgent = `chartledger-import/${version}`;
  const client = new ImportClient({
    url,
    key,
    userAgent,
    stop: signal,
    abandon: signal,
    onWait: () => undefined,
  });
  const body = new TextEncoder().encode(JSON.stringify(file));
  const sending = {
    path: '/integration/imports',
    headers: { 'content-type': 'application/json' },
    idempotencyKey: `file-${name}`,
    body: () => body,
  };
  const { status, text } = await client.send(sending);
  if (status === 200) return;
  const refused = refusedSchema.safeParse(parseJson(text)).data;
  throw new ImportError(
    `The service did not record the file in the audit trail (${status}): ${refused?.error ?? ''}`,
  );
}

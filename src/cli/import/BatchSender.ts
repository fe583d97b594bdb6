import { promisify } from 'node:util';
import { gzip as gzipWithCallback } from 'node:zlib';
import { z } from 'zod';
import { parseJson } from '../service/httpFailure.ts';
import type { Row } from './chunks.ts';
import { type Answer, type ImportClient, refusedSchema } from './ImportClient.ts';
import { ImportError } from './importSource.ts';

const gzip = promisify(gzipWithCallback);

const resultSchema = z.object({
  line: z.int(),
  status: z.int(),
  outcome: z.string().optional(),
  warnings: z.array(z.object({ field: z.string(), message: z.string() })).default([]),
  error: z.string().default(''),
  code: z.string().optional(),
  details: z.unknown().optional(),
  retryable: z.boolean().default(false),
  retryAfter: z.number().optional(),
});

/** What became of a row, as the service tells it. */
export type RowResult = z.infer<typeof resultSchema>;

export interface BatchAnswer {
  /** Of each row, in their order. */
  results: RowResult[];
  /** There was an earlier try under the same key, which may have written rows. */
  isRepeat: boolean;
}

/** Sends rows through `POST /integration/batch`. */
export class BatchSender {
  readonly #client: ImportClient;
  readonly #path: string;

  /** With `unchanged` `skip`, records that are so already get no new version. */
  constructor(client: ImportClient, unchanged: 'skip' | undefined) {
    this.#client = client;
    this.#path = `/integration/batch${unchanged ? `?unchanged=${unchanged}` : ''}`;
  }

  /**
   * What became of each row. The same rows under the same key are written once. Rejects as
   * `ImportClient.send` does.
   */
  async send(rows: readonly Row[], idempotencyKey: string): Promise<BatchAnswer> {
    const body = new Uint8Array(await gzip(rows.map(({ line }) => line).join(''), { level: 1 }));
    const headers = { 'content-type': 'application/x-ndjson', 'content-encoding': 'gzip' };
    for (let failures = 0; ; ) {
      const sending = { path: this.#path, idempotencyKey, headers, body: () => body };
      const answer = await this.#client.send(sending);
      const results = this.#resultsIn(answer);
      if (results?.length === rows.length) return { results, isRepeat: answer.isRepeat };
      failures++;
      if (failures === this.#client.retries.attempts) throw this.#client.away('answers are cut off');
      await this.#client.delay(failures, 'an answer was cut off');
    }
  }

  /** The results in an answer; undefined where it was cut off. Throws `ImportError`. */
  #resultsIn({ status, text }: Answer): RowResult[] | undefined {
    if (status !== 200) throw this.#refusal(status, text);
    const lines = text.split('\n').map(parseJson);
    const results: RowResult[] = [];
    for (const line of lines) {
      if (typeof line === 'object' && line !== null && 'summary' in line) return results;
      if (line === undefined) return results.length === 0 ? this.#stranger(status) : undefined;
      const { data: result } = resultSchema.safeParse(line);
      if (result === undefined) return this.#stranger(status);
      results.push(result);
    }
    return undefined;
  }

  #stranger(status: number): never {
    throw this.#client.stranger(status);
  }

  #refusal(status: number, text: string): ImportError {
    const refused = refusedSchema.safeParse(parseJson(text)).data;
    if (refused === undefined || status === 404) return this.#client.stranger(status);
    if (status >= 500) return this.#client.away(`status ${status}`);
    return new ImportError(
      `The service refuses a batch (${status}): ${refused.error} Begin anew with --fresh, or send to a service of this version.`,
    );
  }
}

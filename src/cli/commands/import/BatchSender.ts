import { promisify } from 'node:util';
import { gzip as gzipWithCallback } from 'node:zlib';
import { parseJson } from '../../lib/httpFailure.ts';
import type { Row } from './chunks.ts';
import type { Answer, ImportClient } from './ImportClient.ts';
import type { SourceRecord } from './importSource.ts';
import { type BatchAnswer, type RowResult, type RowSender, rowResultSchema } from './RowSender.ts';
import { refusedBatch, wholeAnswer } from './wholeAnswer.ts';

const gzip = promisify(gzipWithCallback);

/** Returns the body of a request that sends rows. */
export async function zippedLines(rows: readonly Row[]): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await gzip(rows.map(({ line }) => line).join(''), { level: 1 }));
}

/** Sends rows through `POST /integration/batch`. */
export class BatchSender implements RowSender {
  readonly #client: ImportClient;
  readonly #path: string;

  /** With `unchanged` set to `skip`, unchanged records get no new version. */
  constructor(client: ImportClient, unchanged: 'skip' | undefined) {
    this.#client = client;
    this.#path = `/integration/batch${unchanged ? `?unchanged=${unchanged}` : ''}`;
  }

  lineOf({ kind, record }: SourceRecord): string {
    return `${JSON.stringify({ kind, record })}\n`;
  }

  /** The same rows are written only once under the same key. Rejects as `ImportClient.send` does. */
  async send(rows: readonly Row[], idempotencyKey: string): Promise<BatchAnswer> {
    const body = await zippedLines(rows);
    const headers = { 'content-type': 'application/x-ndjson', 'content-encoding': 'gzip' };
    const sending = { path: this.#path, idempotencyKey, headers, body: () => body };
    return wholeAnswer(this.#client, sending, (answer) => {
      const results = this.#resultsIn(answer);
      return results?.length === rows.length ? { results, isRepeat: answer.isRepeat } : undefined;
    });
  }

  /** Returns the results in an answer; undefined if it was cut off. Throws `ImportError`. */
  #resultsIn(answer: Answer): RowResult[] | undefined {
    const { status, text } = answer;
    if (status !== 200) throw refusedBatch(this.#client, answer);
    const lines = text.split('\n').map(parseJson);
    const results: RowResult[] = [];
    for (const line of lines) {
      if (typeof line === 'object' && line !== null && 'summary' in line) return results;
      if (line === undefined) return results.length === 0 ? this.#stranger(status) : undefined;
      const { data: result } = rowResultSchema.safeParse(line);
      if (result === undefined) return this.#stranger(status);
      results.push(result);
    }
    return undefined;
  }

  #stranger(status: number): never {
    throw this.#client.stranger(status);
  }
}

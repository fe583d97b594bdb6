import { type ServiceError, unavailable } from '../../../platform/errors.ts';
import type { HeadTarget, KeptHead } from '../../headTarget.ts';
import { within } from '../within.ts';
import { filePages } from './filePages.ts';
import { gcsProblem } from './gcsProblem.ts';
import { type OpenedBucket, openBucket } from './openBucket.ts';

const LIMIT_MS = 10_000;
const PRECONDITION_FAILED = 412;
const READ_AT_ONCE = 20;

/**
 * Heads as objects in a Google Cloud Storage bucket, `<prefix>/<name>`. Storing them requires no permission to read or delete.
 */
export class GcsHeadTarget implements HeadTarget {
  readonly #opened: OpenedBucket;

  /** See `openBucket`. */
  constructor(url: string) {
    this.#opened = openBucket(url, LIMIT_MS);
  }

  get place(): string {
    const { bucket, prefix } = this.#opened;
    return `gs://${bucket.name}/${prefix}`;
  }

  async keep(name: string, text: string): Promise<void> {
    const { bucket, prefix } = this.#opened;
    const options = {
      resumable: false,
      contentType: 'application/json',
      preconditionOpts: { ifGenerationMatch: 0 },
    } as const;
    try {
      await within(LIMIT_MS, bucket.file(prefix + name).save(text, options));
    } catch (error) {
      // An earlier try of the same request succeeded, but its response was lost.
      if (Number((error as { code?: unknown }).code) === PRECONDITION_FAILED) return;
      throw this.#problem(error);
    }
  }

  async *kept(start: string): AsyncGenerator<KeptHead> {
    const { prefix } = this.#opened;
    try {
      for await (const files of filePages(this.#opened, start, LIMIT_MS)) {
        for (let at = 0; at < files.length; at += READ_AT_ONCE) {
          const reading = files.slice(at, at + READ_AT_ONCE).map(async (file) => {
            const [bytes] = await within(LIMIT_MS, file.download());
            return { name: file.name.slice(prefix.length), text: bytes.toString() };
          });
          yield* await Promise.all(reading);
        }
      }
    } catch (error) {
      throw this.#problem(error);
    }
  }

  #problem(error: unknown): ServiceError {
    const { name } = this.#opened.bucket;
    const problem = gcsProblem(name, error, 'HEADS_TO') ?? `The bucket ${name} does not answer.`;
    return unavailable('target of heads', error, problem);
  }
}

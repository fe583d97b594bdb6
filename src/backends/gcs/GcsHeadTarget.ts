import { unavailable } from '../../errors.ts';
import type { HeadTarget } from '../../ports/headTarget.ts';
import { within } from '../within.ts';
import { gcsProblem } from './gcsProblem.ts';
import { type OpenedBucket, openBucket } from './openBucket.ts';

const LIMIT_MS = 10_000;
const PRECONDITION_FAILED = 412;

/** Heads as objects of a bucket of Google Cloud Storage, `<prefix>/<name>`. It needs no right to read or to delete. */
export class GcsHeadTarget implements HeadTarget {
  readonly #opened: OpenedBucket;

  /** See `openBucket`. */
  constructor(url: string) {
    this.#opened = openBucket(url, LIMIT_MS);
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
      // An earlier try of the same request came through, and its answer did not.
      if (Number((error as { code?: unknown }).code) === PRECONDITION_FAILED) return;
      const problem =
        gcsProblem(bucket.name, error, 'HEADS_TO') ?? `The bucket ${bucket.name} does not answer.`;
      throw unavailable('target of heads', error, problem);
    }
  }
}

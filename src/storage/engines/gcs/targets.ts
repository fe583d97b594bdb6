import type { Readable } from 'node:stream';
import type { File } from '@google-cloud/storage';
import { ServiceError, unavailable } from '../../../platform/errors.ts';
import type { BackupTarget, PublishedHead, TreeHeadPublisher } from '../../targets.ts';
import { withTimeout } from '../shared.ts';
import { gcsProblem, type OpenedBucket, openBucket } from './bucket.ts';
import { filePages, readWithin, uploadObject } from './documentStore.ts';

/** Time limit for a small request, or the first byte of a file. */
const CALL_MS = 10_000;
/** Maximum time without any bytes of a file. */
const STALL_MS = 30_000;
const NOT_FOUND = 404;

/** A backup as objects in a Google Cloud Storage bucket, `<prefix>/<name>`. */
export class GcsBackupTarget implements BackupTarget {
  readonly #opened: OpenedBucket;

  /** See `openBucket`. */
  constructor(url: string) {
    this.#opened = openBucket(url, STALL_MS);
  }

  get place(): string {
    const { bucket, prefix } = this.#opened;
    return `gs://${bucket.name}/${prefix}`;
  }

  async write(name: string, source: AsyncIterable<Uint8Array>): Promise<void> {
    const toServiceError = (error: unknown) => this.#problem(error);
    await uploadObject(this.#file(name), source, { stallMs: STALL_MS, isNew: false, toServiceError });
  }

  read(name: string): Promise<Readable> {
    return readWithin(() => this.#file(name).createReadStream({ validation: 'crc32c' }), {
      firstMs: CALL_MS,
      stallMs: STALL_MS,
      toServiceError: (error) => this.#readError(name, error),
    });
  }

  async *names(): AsyncGenerator<string> {
    const { prefix } = this.#opened;
    try {
      for await (const files of filePages(this.#opened, '', CALL_MS))
        yield* files.map((file) => file.name.slice(prefix.length));
    } catch (error) {
      throw this.#problem(error);
    }
  }

  async delete(name: string): Promise<void> {
    try {
      await withTimeout(CALL_MS, this.#file(name).delete({ ignoreNotFound: true }));
    } catch (error) {
      throw this.#problem(error);
    }
  }

  #file(name: string): File {
    const { bucket, prefix } = this.#opened;
    return bucket.file(prefix + name);
  }

  /** A missing bucket is reported as 404, too. */
  async #readError(name: string, error: unknown): Promise<ServiceError> {
    if ((error as { code?: unknown }).code !== NOT_FOUND) return this.#problem(error);
    await this.names().next();
    return new ServiceError('not_found', `There is no object ${this.place}${name}.`);
  }

  #problem(error: unknown): ServiceError {
    const { name } = this.#opened.bucket;
    const problem =
      gcsProblem(name, error, 'the place of the backup') ?? `The bucket ${name} does not answer.`;
    return unavailable('place of the backup', error, problem);
  }
}

const LIMIT_MS = 10_000;
const PRECONDITION_FAILED = 412;
const READ_AT_ONCE = 20;

/**
 * Heads as objects in a Google Cloud Storage bucket, `<prefix>/<name>`. Storing them requires no permission to read or delete.
 */
export class GcsTreeHeadPublisher implements TreeHeadPublisher {
  readonly #opened: OpenedBucket;

  /** See `openBucket`. */
  constructor(url: string) {
    this.#opened = openBucket(url, LIMIT_MS);
  }

  get place(): string {
    const { bucket, prefix } = this.#opened;
    return `gs://${bucket.name}/${prefix}`;
  }

  async write(name: string, text: string): Promise<void> {
    const { bucket, prefix } = this.#opened;
    const options = {
      resumable: false,
      contentType: 'application/json',
      preconditionOpts: { ifGenerationMatch: 0 },
    } as const;
    try {
      await withTimeout(LIMIT_MS, bucket.file(prefix + name).save(text, options));
    } catch (error) {
      // An earlier try of the same request succeeded, but its response was lost.
      if (Number((error as { code?: unknown }).code) === PRECONDITION_FAILED) return;
      throw this.#problem(error);
    }
  }

  async *list(start: string): AsyncGenerator<PublishedHead> {
    const { prefix } = this.#opened;
    try {
      for await (const files of filePages(this.#opened, start, LIMIT_MS)) {
        for (let at = 0; at < files.length; at += READ_AT_ONCE) {
          const reading = files.slice(at, at + READ_AT_ONCE).map(async (file) => {
            const [bytes] = await withTimeout(LIMIT_MS, file.download());
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

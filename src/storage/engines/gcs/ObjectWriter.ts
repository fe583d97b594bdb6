import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { File } from '@google-cloud/storage';
import { within } from '../within.ts';

/** Kept in memory until the store has acknowledged it, so that a failed request can be repeated. */
const CHUNK_BYTES = 8 * 1024 * 1024;

export interface WriterOptions {
  /** Maximum time without any bytes. */
  stallMs: number;
  /** Fails if the object exists; otherwise it is replaced. */
  isNew: boolean;
}

/** A resumable upload of one object, whose checksum must match the store's response. */
export class ObjectWriter {
  readonly #stream: Writable;
  readonly #stallMs: number;
  readonly #done: Promise<void>;

  constructor(file: File, { stallMs, isNew }: WriterOptions) {
    this.#stream = file.createWriteStream({
      resumable: true,
      chunkSize: CHUNK_BYTES,
      validation: 'crc32c',
      ...(isNew && { preconditionOpts: { ifGenerationMatch: 0 } }),
      metadata: { contentType: 'application/octet-stream' },
    });
    this.#stallMs = stallMs;
    this.#done = finished(this.#stream);
    this.#done.catch(() => undefined);
  }

  /** Resolves when the next bytes can be written; rejects when the upload failed or stalls. */
  write(chunk: Uint8Array): Promise<void> {
    const taken = new Promise<void>((resolve, reject) => {
      this.#stream.write(chunk, (error) => (error ? reject(error) : resolve()));
    });
    return within(this.#stallMs, Promise.race([taken, this.#done]));
  }

  /** Resolves when the whole object is stored. */
  end(): Promise<void> {
    this.#stream.end();
    return within(this.#stallMs, this.#done);
  }

  /** Aborts the upload unless it has ended; there is then no object. */
  destroy(): void {
    this.#stream.destroy();
  }
}

import { createHash } from 'node:crypto';
import type { File } from '@google-cloud/storage';
import type { ServiceError } from '../../../platform/errors.ts';
import type { StoredDocument } from '../../documentStore.ts';
import { ObjectWriter, type WriterOptions } from './ObjectWriter.ts';

interface UploadOptions extends WriterOptions {
  toServiceError(error: unknown): ServiceError;
}

/**
 * Writes an object atomically, in bounded memory. Errors from `source` are passed through unchanged; the store's are converted by
 * `toServiceError`.
 */
export async function uploadObject(
  file: File,
  source: AsyncIterable<Uint8Array>,
  { toServiceError, ...options }: UploadOptions,
): Promise<StoredDocument> {
  const writer = new ObjectWriter(file, options);
  const hash = createHash('sha256');
  let size = 0;
  const store = <Result>(work: Promise<Result>) =>
    work.catch((error) => Promise.reject(toServiceError(error)));
  try {
    for await (const chunk of source) {
      hash.update(chunk);
      size += chunk.length;
      await store(writer.write(chunk));
    }
    await store(writer.end());
  } finally {
    writer.destroy();
  }
  return { size, sha256: hash.digest('hex') };
}

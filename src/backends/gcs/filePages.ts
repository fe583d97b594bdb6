import type { File } from '@google-cloud/storage';
import { within } from '../within.ts';
import type { OpenedBucket } from './openBucket.ts';

/** The objects whose names begin with the prefix and `start`, by their names, a page at a time. Rejects as the library does. */
export async function* filePages(
  { bucket, prefix }: OpenedBucket,
  start: string,
  limitMs: number,
): AsyncGenerator<File[]> {
  for (let query: object | null = { prefix: prefix + start, autoPaginate: false }; query !== null; ) {
    const [files, next]: [File[], object | null, ...unknown[]] = await within(
      limitMs,
      bucket.getFiles(query),
    );
    yield files;
    query = next;
  }
}

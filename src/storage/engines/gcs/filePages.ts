import type { File } from '@google-cloud/storage';
import { within } from '../within.ts';
import type { OpenedBucket } from './openBucket.ts';

/** Yields the objects whose names start with the prefix and `start`, by name, one page at a time. Rejects as the library does. */
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

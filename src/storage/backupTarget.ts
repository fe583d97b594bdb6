import type { Readable } from 'node:stream';

/**
 * A place outside the service that holds a backup: named files in folders (`log/0001.ndjson.gz`).
 *
 * Methods reject with `unavailable` when the place is unreachable, full or not accessible; its `problem` tells operators why.
 */
export interface BackupTarget {
  /** Where it is, for display; contains no secrets. */
  readonly place: string;

  /** Writes a file durably and atomically, replacing an existing one. Errors from `source` are passed through unchanged. */
  write(name: string, source: AsyncIterable<Uint8Array>): Promise<void>;

  /** Returns the bytes of a file; rejects with `not_found` when it does not exist. */
  read(name: string): Promise<Readable>;

  /** Yields the names of all files, unordered, including those left by interrupted writes. */
  names(): AsyncIterable<string>;

  /** Removes a file; a missing one is not an error. */
  delete(name: string): Promise<void>;
}

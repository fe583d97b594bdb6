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

/** A file in a target of heads. */
export interface PublishedHead {
  name: string;
  text: string;
}

/** A place outside the service that receives signed heads and erasure notices. */
export interface TreeHeadPublisher {
  /** Where it is, for display; contains no secrets. */
  readonly place: string;

  /**
   * Durably stores a new file; `name` consists of letters, digits and `-._`, and is never reused. Existing files are never
   * overwritten. Rejects with `unavailable` when the place does not accept it within ten seconds; its `problem` tells operators
   * why.
   */
  write(name: string, text: string): Promise<void>;

  /**
   * Yields what was stored under names that start with `prefix`, ordered by name. Absent where a place is write-only. Rejects as
   * `write` does, and when reading is not permitted.
   */
  list?(prefix: string): AsyncIterable<PublishedHead>;
}

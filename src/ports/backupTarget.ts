import type { Readable } from 'node:stream';

/**
 * A place outside the service that holds a backup: files by name, with folders (`log/0001.ndjson.gz`).
 *
 * Methods reject with `unavailable`, whose `problem` tells operators what is the matter, when the place is away, full or may
 * not be used.
 */
export interface BackupTarget {
  /** Where it is, for people: nothing in it is secret. */
  readonly place: string;

  /**
   * Writes a file, durably, whole or not at all, in the place of one that is there. What `source` rejects with goes through as it
   * is.
   */
  write(name: string, source: AsyncIterable<Uint8Array>): Promise<void>;

  /** The bytes of a file; rejects with `not_found` when there is none. */
  read(name: string): Promise<Readable>;

  /** The names of all files, in no order, those that a write which was cut off has left included. */
  names(): AsyncIterable<string>;

  /** Removes a file; one that is not there is no error. */
  delete(name: string): Promise<void>;
}

import { closeSync, openSync, readSync } from 'node:fs';
import { endianness } from 'node:os';
import type { Syncs } from './syncGauge.ts';

/** Where the index of a write-ahead log counts its commits: `iChange` of SQLite's `WalIndexHdr`. */
const COMMITS_AT = 8;

/**
 * Counts commits to a SQLite file that wrote a page. With `synchronous=FULL` each has one sync, and one that changes
 * nothing has none: for use where syncs themselves cannot be counted.
 */
export function walCommits(path: string): { read(): Syncs } {
  return {
    read() {
      const bytes = Buffer.alloc(4);
      const file = openSync(`${path}-shm`, 'r');
      readSync(file, bytes, 0, bytes.length, COMMITS_AT);
      closeSync(file);
      const count = endianness() === 'LE' ? bytes.readUInt32LE() : bytes.readUInt32BE();
      return { count, seconds: Number.NaN };
    },
  };
}

import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** Measures durable appends of 1 KB per second to one growing file in the folder, one after the other. */
export function fdatasyncRate(folder: string, seconds: number): number {
  const path = join(folder, 'fdatasync');
  const kilobyte = Buffer.alloc(1024, 'x');
  const file = openSync(path, 'w');
  const startedAt = performance.now();
  let count = 0;
  while (performance.now() - startedAt < seconds * 1000) {
    writeSync(file, kilobyte);
    fdatasyncSync(file);
    count++;
  }
  const rate = (count * 1000) / (performance.now() - startedAt);
  closeSync(file);
  rmSync(path);
  return rate;
}

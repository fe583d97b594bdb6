import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Works in an empty folder whose name begins with `prefix`. Afterwards, and when interrupted by a signal, calls
 * `kill` and leaves nothing behind.
 */
export async function inOwnFolder<Result>(
  prefix: string,
  kill: () => void,
  work: (folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  const cleanUp = () => {
    kill();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  const breakOff = () => {
    cleanUp();
    process.exit(130);
  };
  process.once('SIGINT', breakOff);
  process.once('SIGTERM', breakOff);
  try {
    return await work(folder);
  } finally {
    cleanUp();
    process.off('SIGINT', breakOff);
    process.off('SIGTERM', breakOff);
  }
}

import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from '../../config.ts';

function markerOf(dataDir: string): string {
  return join(dataDir, 'restore-under-way');
}

/** Notes that what is in a data folder is not whole. Throws what the file system says. */
export function markRestore(dataDir: string): void {
  writeFileSync(markerOf(dataDir), '', { flush: true });
}

/** What is in the folder is whole. */
export function unmarkRestore(dataDir: string): void {
  rmSync(markerOf(dataDir), { force: true });
}

/** Whether a restore into a data folder did not come to its end. */
export function isHalfRestored(dataDir: string): boolean {
  return existsSync(markerOf(dataDir));
}

/** Nothing works with a data folder that holds a half of a backup. Throws `ConfigError`. */
export function requireRestored(dataDir: string): void {
  if (isHalfRestored(dataDir))
    throw new ConfigError(
      `The restore into ${dataDir} was not completed. Run it again: chartledger restore.`,
    );
}

import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from '../platform/config.ts';

function markerOf(dataDir: string): string {
  return join(dataDir, 'restore-under-way');
}

/** Marks the contents of a data folder as incomplete. Throws the file system's error. */
export function markRestore(dataDir: string): void {
  writeFileSync(markerOf(dataDir), '', { flush: true });
}

/** Marks the contents of the folder as complete. */
export function unmarkRestore(dataDir: string): void {
  rmSync(markerOf(dataDir), { force: true });
}

/** Whether a restore into a data folder was not completed. */
export function isHalfRestored(dataDir: string): boolean {
  return existsSync(markerOf(dataDir));
}

/** Prevents any use of a data folder that contains half a backup. Throws `ConfigError`. */
export function requireRestored(dataDir: string): void {
  if (isHalfRestored(dataDir))
    throw new ConfigError(
      `The restore into ${dataDir} was not completed. Run it again: chartledger restore.`,
    );
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { KeyDirectory } from '../../modules/auth/KeyDirectory.ts';
import type { UserDirectory } from '../../modules/auth/UserDirectory.ts';

/** The longest that a page waits: when the log is slow or cannot be reached, the last known state is used. */
const LONGEST_MS = 1_000;

interface Directories {
  directory: KeyDirectory;
  users: UserDirectory;
}

/**
 * Brings workspaces, keys and users up to date: a change just made through another thread or process is visible on
 * the next page. Never rejects.
 */
export async function catchUp({ directory, users }: Directories): Promise<void> {
  const over = new AbortController();
  const late = sleep(LONGEST_MS, undefined, { signal: over.signal }).catch(() => undefined);
  await Promise.race([Promise.allSettled([directory.refresh(), users.refresh()]), late]);
  over.abort();
}

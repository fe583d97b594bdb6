import { setTimeout as sleep } from 'node:timers/promises';
import type { KeyDirectory } from '../../principals/keys/KeyDirectory.ts';
import type { UserDirectory } from '../../principals/users/UserDirectory.ts';

/** What a page waits for it, at most: a log that is away or slow leaves the last known state. */
const LONGEST_MS = 1_000;

interface Directories {
  directory: KeyDirectory;
  users: UserDirectory;
}

/**
 * Has workspaces, keys and users known as they are now: what somebody just changed by way of another thread or process, the
 * next page shows. Never rejects.
 */
export async function catchUp({ directory, users }: Directories): Promise<void> {
  const over = new AbortController();
  const late = sleep(LONGEST_MS, undefined, { signal: over.signal }).catch(() => undefined);
  await Promise.race([Promise.allSettled([directory.refresh(), users.refresh()]), late]);
  over.abort();
}

import { randomUUID } from 'node:crypto';
import type { Config } from '../platform/config.ts';

/**
 * Returns a process's identity as an owner of leases. SQLite files belong to one service at a time: its successor after a crash
 * is the same owner and need not wait for the lease to expire.
 */
export function leaseOwner({ stateUrl }: Config): string {
  return stateUrl.startsWith('sqlite:') ? 'embedded' : randomUUID();
}

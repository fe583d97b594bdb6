import { randomUUID } from 'node:crypto';
import type { Config } from '../config.ts';

/**
 * Who a process is to leases. SQLite's files belong to one service at a time: its successor after a crash is the same owner
 * and need not wait for the lease to run out.
 */
export function leaseOwner({ stateUrl }: Config): string {
  return stateUrl.startsWith('sqlite:') ? 'embedded' : randomUUID();
}

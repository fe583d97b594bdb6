import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../platform/errors.ts';
import { openLeases } from './openBackend.ts';

const LEASE = 'backup';
const LEASE_MS = 4_000;
const RENEW_MS = 1_000;
const ASK_MS = 500;
/** Longer than the lease of a killed process. */
const PATIENCE_MS = 10_000;

/**
 * Returns the result of `work`, run while no other process of the service does the same. Rejects with `conflict` when another one
 * still does after the time for which a killed one would seem to, and with `unavailable`. If the lease could not be renewed in
 * time, another one may have begun: `work` is passed a function that rejects with `conflict` while one is in progress.
 */
export async function asOnlyOne<Result>(
  stateUrl: string,
  work: (requireOnly: () => Promise<void>) => Promise<Result>,
): Promise<Result> {
  const leases = await openLeases(stateUrl);
  const owner = randomUUID();
  const requireOnly = async () => {
    if (!(await leases.acquire(LEASE, owner, LEASE_MS)))
      throw new ServiceError('conflict', 'Another backup is in progress.');
  };
  try {
    await insistently(requireOnly);
    const renewing = setInterval(() => requireOnly().catch(() => undefined), RENEW_MS);
    try {
      return await work(() => insistently(requireOnly));
    } finally {
      clearInterval(renewing);
      await leases.release(LEASE, owner).catch(() => undefined);
    }
  } finally {
    await leases.close();
  }
}

/** Tries again until it succeeds; rejects as the last try does. */
async function insistently(work: () => Promise<void>): Promise<void> {
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      await work();
      return;
    } catch (error) {
      if (performance.now() > until) throw error;
    }
    await sleep(ASK_MS);
  }
}

import { randomUUID } from 'node:crypto';
import { ServiceError } from '../../errors.ts';
import { whileLeader } from '../../threads/whileLeader.ts';
import { openLeases } from '../openBackend.ts';

const LEASE = 'backup';
/** Longer than the lease of a killed process. */
const PATIENCE_MS = 10_000;

/**
 * Returns the result of `work`, run while no other process of the service does the same. Rejects with `conflict` when another one
 * still does after the time for which a killed one would seem to.
 */
export async function asOnlyOne<Result>(stateUrl: string, work: () => Promise<Result>): Promise<Result> {
  const leases = await openLeases(stateUrl);
  const over = new AbortController();
  let working: Promise<Result> | undefined;
  const late = setTimeout(() => working ?? over.abort(), PATIENCE_MS);
  try {
    await whileLeader(leases, LEASE, randomUUID(), over.signal, async () => {
      working = work();
      await working.catch(() => undefined);
      over.abort();
    });
    if (working === undefined) throw new ServiceError('conflict', 'Another backup is in progress.');
    return await working;
  } finally {
    clearTimeout(late);
    await leases.close();
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { ReadModels } from '../ports/readModels.ts';

/** How long a lease outlives its owner: the others take over within this time and one `ASK_MS`. */
const LEASE_MS = 4_000;
const RENEW_MS = 1_000;
const ASK_MS = 500;

/**
 * Runs `work` while this process holds the lease `name`, which one of all instances does at a time; again whenever it
 * gets it back, until the signal. The signal given to `work` ends it when the lease is lost, or cannot be renewed in
 * time because the store is away. Never rejects.
 */
export async function whileLeader(
  readModels: ReadModels,
  name: string,
  owner: string,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const acquire = () => readModels.acquireLease(name, owner, LEASE_MS).catch(() => undefined);
  while (!signal.aborted) {
    if (await acquire()) {
      await lead(acquire, signal, work);
      await readModels.releaseLease(name, owner).catch(() => undefined);
    }
    await sleep(ASK_MS, undefined, { signal }).catch(() => undefined);
  }
}

async function lead(
  acquire: () => Promise<boolean | undefined>,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const lost = new AbortController();
  const working = work(AbortSignal.any([signal, lost.signal])).finally(() => lost.abort());
  let heldUntil = Date.now() + LEASE_MS;
  while (!signal.aborted && !lost.signal.aborted) {
    await sleep(RENEW_MS, undefined, { signal: AbortSignal.any([signal, lost.signal]) }).catch(
      () => undefined,
    );
    const askedAt = Date.now();
    const held = await acquire();
    if (held) heldUntil = askedAt + LEASE_MS;
    else if (held === false || Date.now() > heldUntil - RENEW_MS) lost.abort();
  }
  await working;
}

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../platform/errors.ts';
import { openLeases } from './openStorage.ts';

const LEASE_MS = 4_000;
const RENEW_MS = 1_000;
const ASK_MS = 500;
/** How long to wait for another process, and for leaders: longer than the leases of a killed one. */
const WAIT_MS = 10_000;
const WAIT_FOR_LEADERS_MS = 6_000;

/** What only one process does at a time, with the name of its lease. */
const tasks = {
  backup: 'Another backup is in progress.',
  migrate: 'The service is being moved by another process.',
};

/**
 * Returns the result of `work`, run while no other process of the service does the same. Rejects with `conflict` when another one
 * still does after the time for which a killed one would seem to, and with `unavailable`. If the lease could not be renewed in
 * time, another one may have begun: `work` is passed a function that rejects with `conflict` while one is in progress.
 */
export function withExclusiveLock<Result>(
  stateUrl: string,
  task: keyof typeof tasks,
  work: (requireOnly: () => Promise<void>) => Promise<Result>,
): Promise<Result> {
  return holding(stateUrl, { names: [task], waitMs: WAIT_MS }, async (hold) => {
    const requireOnly = async () => {
      if (!(await hold())) throw new ServiceError('conflict', tasks[task]);
    };
    await requireOnly();
    return work(requireOnly);
  });
}

/**
 * Runs `work` with a function that acquires some leases, again if they were lost since; it returns false when other processes hold
 * any of them for longer than a killed one would seem to. They are renewed until `work` ends, and then released. Rejects with
 * `unavailable`.
 */
export function withLeases<Result>(
  stateUrl: string,
  names: readonly string[],
  work: (hold: () => Promise<boolean>) => Promise<Result>,
): Promise<Result> {
  return holding(stateUrl, { names, waitMs: WAIT_FOR_LEADERS_MS }, work);
}

async function holding<Result>(
  stateUrl: string,
  { names, waitMs }: { names: readonly string[]; waitMs: number },
  work: (hold: () => Promise<boolean>) => Promise<Result>,
): Promise<Result> {
  const leases = await openLeases(stateUrl);
  const owner = randomUUID();
  // All of them each time: in a database, how long another one has to wait counts from when it first asked.
  const acquire = async () => {
    const held = await Promise.all(names.map((name) => leases.acquire(name, owner, LEASE_MS)));
    return held.every((isHeld) => isHeld);
  };
  let renewing: NodeJS.Timeout | undefined;
  const hold = async () => {
    const isHeld = await insistently(acquire, waitMs);
    if (isHeld) renewing ??= setInterval(() => acquire().catch(() => undefined), RENEW_MS);
    return isHeld;
  };
  try {
    return await work(hold);
  } finally {
    clearInterval(renewing);
    for (const name of names) await leases.release(name, owner).catch(() => undefined);
    await leases.close();
  }
}

/** Tries again until it succeeds; ends as the last try does. */
async function insistently(work: () => Promise<boolean>, waitMs: number): Promise<boolean> {
  const until = performance.now() + waitMs;
  for (;;) {
    const isLast = performance.now() > until;
    const done = await work().catch((error) => {
      if (isLast) throw error;
      return false;
    });
    if (done || isLast) return done;
    await sleep(ASK_MS);
  }
}

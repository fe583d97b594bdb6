import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../platform/config.ts';

/**
 * Returns a process's identity as an owner of leases. SQLite files belong to one service at a time: its successor after a crash
 * is the same owner and need not wait for the lease to expire.
 */
export function leaseOwner({ stateUrl }: Config): string {
  return stateUrl.startsWith('sqlite:') ? 'embedded' : randomUUID();
}

/**
 * Leases: only one instance at a time does what a lease stands for.
 *
 * Methods reject with `ServiceError('unavailable')` when the store is unreachable or does not answer within three seconds.
 */
export interface Leases {
  /**
   * Acquires or renews a lease; true when `owner` holds it for `forMs` from the moment of the call. The owner renews it well
   * before it expires. Another owner acquires it `forMs` after the last renewal at the earliest, if it keeps asking at short
   * intervals. Clocks of different machines are never compared.
   */
  acquire(name: string, owner: string, forMs: number): Promise<boolean>;

  /** Releases a lease; does nothing when `owner` does not hold it. */
  release(name: string, owner: string): Promise<void>;

  close(): Promise<void>;
}

/** How long a lease outlives its owner: the others take over within this time and one `ASK_MS`. */
const LEASE_MS = 4_000;
const RENEW_MS = 1_000;
const ASK_MS = 500;
/** How long before the end of its lease a leader that could not renew it stops. */
const MARGIN_MS = 1_000;

/**
 * Runs `work` while this process holds the lease `name`, which only one of all instances does at a time; again
 * whenever it gets it back, until the signal. The signal passed to `work`, which never rejects, ends it when the
 * lease is lost, or cannot be renewed in time because the store cannot be reached. `askMs` returns how long to wait
 * before asking for it again.
 */
export async function runAsLeader(
  leases: Leases,
  name: string,
  owner: string,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<void>,
  askMs: () => number = () => ASK_MS,
): Promise<void> {
  while (!signal.aborted) {
    const lease = new Lease(leases, name, owner);
    if (await lease.ask()) {
      await lead(lease, signal, work);
      await leases.release(name, owner).catch(() => undefined);
    }
    await pause(askMs(), signal);
  }
}

/** One term of leadership. */
class Lease {
  readonly #ask: () => Promise<boolean>;
  readonly #over = new AbortController();
  #expiry: NodeJS.Timeout | undefined;

  constructor(leases: Leases, name: string, owner: string) {
    this.#ask = () => leases.acquire(name, owner, LEASE_MS);
  }

  /** Aborts when the lease is lost, or `MARGIN_MS` before it would expire. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** Takes or renews it. The lease may expire while the store is asked. */
  async ask(): Promise<boolean> {
    // The term begins at the latest when it is asked for: the response may arrive long after.
    const end = performance.now() + LEASE_MS - MARGIN_MS;
    const held = await this.#ask().catch(() => undefined);
    if (held === false) this.end();
    if (!held || this.#over.signal.aborted) return false;
    clearTimeout(this.#expiry);
    this.#expiry = setTimeout(() => this.end(), Math.max(0, end - performance.now()));
    return true;
  }

  end(): void {
    clearTimeout(this.#expiry);
    this.#over.abort();
  }
}

async function lead(
  lease: Lease,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const leading = AbortSignal.any([signal, lease.over]);
  const working = work(leading).finally(() => lease.end());
  for (;;) {
    await pause(RENEW_MS, leading);
    if (leading.aborted) break;
    await lease.ask();
  }
  await working;
  lease.end();
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}

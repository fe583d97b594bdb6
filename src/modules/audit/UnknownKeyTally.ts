import { v7 as uuidv7 } from 'uuid';
import { INSTALLATION } from '../../domain/events/streamNames.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { recordFurtherAccess } from './recordAccess.ts';

/** When the first counts are recorded; later ones wait longer. */
const FIRST_MS = 60_000;
const EVERY_MS = 600_000;
/** Number of addresses counted individually, and of those that get their own entry; the others share one. */
const MOST_COUNTED = 1_000;
const MOST_NAMED = 20;

/** Stands for all addresses that are not counted individually. */
const OTHERS = '';

/**
 * Counts requests refused because of an unknown API key, by client address; nothing of the key itself is kept. The counts become
 * entries in the installation's audit trail: at most 21 in ten minutes for each thread that answers requests, however many
 * requests and addresses there are. What was counted when a process is killed is lost.
 */
export class UnknownKeyTally {
  readonly #eventLog: EventLog;
  #counts = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  /** On the monotonic clock. */
  #flushedAt = Number.NEGATIVE_INFINITY;

  constructor(eventLog: EventLog) {
    this.#eventLog = eventLog;
  }

  /** Counts one, from an address or network. */
  add(clientIp: string): void {
    this.#count(clientIp, 1);
  }

  /** Records what was counted. Rejects with `unavailable`; what is not recorded then waits for the next time. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#flushedAt = performance.now();
    const counted = mostFrequent(this.#counts);
    this.#counts = new Map();
    const recorded = await Promise.allSettled(counted.map((one) => this.#record(...one)));
    for (const [index, { status }] of recorded.entries()) {
      if (status === 'rejected') this.#count(...(counted[index] as [string, number]));
    }
    const failed = recorded.find(({ status }) => status === 'rejected');
    if (failed) throw (failed as PromiseRejectedResult).reason;
  }

  #count(address: string, count: number): void {
    const isCounted = this.#counts.has(address) || this.#counts.size < MOST_COUNTED;
    const key = isCounted ? address : OTHERS;
    this.#counts.set(key, count + (this.#counts.get(key) ?? 0));
    if (this.#timer) return;
    const wait = Math.max(FIRST_MS, this.#flushedAt + EVERY_MS - performance.now());
    this.#timer = setTimeout(() => this.flush().catch(() => undefined), wait).unref();
  }

  #record(address: string, count: number): Promise<void> {
    const caller = {
      workspace: INSTALLATION,
      principal: { type: 'service', id: 'api' } as const,
      requestId: uuidv7(),
      ...(address !== OTHERS && { clientIp: address }),
    };
    const refused = { outcome: 'refused', code: 'unauthorized', status: 401 } as const;
    return recordFurtherAccess(this.#eventLog, caller, { action: 'key.unknown', ...refused, count });
  }
}

/** Returns the addresses with the highest counts, and the sum of all others. */
function mostFrequent(counts: ReadonlyMap<string, number>): [string, number][] {
  const sorted = [...counts]
    .filter(([address]) => address !== OTHERS)
    .sort(([, one], [, other]) => other - one);
  const named = sorted.slice(0, MOST_NAMED);
  const rest = sorted.slice(MOST_NAMED).reduce((sum, [, count]) => sum + count, counts.get(OTHERS) ?? 0);
  return rest === 0 ? named : [...named, [OTHERS, rest]];
}

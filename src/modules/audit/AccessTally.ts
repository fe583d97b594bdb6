import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../../domain/events/newEvent.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { type AccessAction, recordFurtherAccess } from './recordAccess.ts';

const EVERY_MS = 60_000;

interface Counted extends Pick<Caller, 'workspace' | 'principal'> {
  action: AccessAction;
  count: number;
}

/**
 * Counts events that are too frequent, and too insignificant, for individual audit trail entries: those of a minute become one
 * entry per key and action, with their count. When a process is killed, at most a minute's counts are lost.
 */
export class AccessTally {
  readonly #eventLog: EventLog;
  #counted = new Map<string, Counted>();
  #timer: NodeJS.Timeout | undefined;

  constructor(eventLog: EventLog) {
    this.#eventLog = eventLog;
  }

  /** Counts one. */
  add({ workspace, principal }: Caller, action: AccessAction): void {
    this.#count({ workspace, principal, action, count: 1 });
  }

  /** Records what was counted. Rejects with `unavailable`; what is not recorded then waits for the next time. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const counted = [...this.#counted.values()];
    this.#counted = new Map();
    const recorded = await Promise.allSettled(counted.map((one) => this.#record(one)));
    for (const [index, { status }] of recorded.entries()) {
      if (status === 'rejected') this.#count(counted[index] as Counted);
    }
    const failed = recorded.find(({ status }) => status === 'rejected');
    if (failed) throw (failed as PromiseRejectedResult).reason;
  }

  #count(one: Counted): void {
    const key = `${one.workspace} ${one.principal.id} ${one.action}`;
    const before = this.#counted.get(key);
    this.#counted.set(key, { ...one, count: one.count + (before?.count ?? 0) });
    this.#timer ??= setTimeout(() => this.flush().catch(() => undefined), EVERY_MS).unref();
  }

  #record({ workspace, principal, action, count }: Counted): Promise<void> {
    const caller = { workspace, principal, requestId: uuidv7() };
    return recordFurtherAccess(this.#eventLog, caller, { action, count });
  }
}

import { type ErrorCode, ServiceError } from '../errors.ts';
import type { EarlierTry } from '../events/newEvent.ts';
import type { Clock } from '../ports/clock.ts';
import type { StateStore } from '../ports/stateStore.ts';
import { keyInUse, keyReused } from './idempotencyRefusals.ts';
import type { KeyDigests, KeyOfCaller } from './KeyDigests.ts';
import { changedRow, type KeptRequest, type KeptRow, keptRequests } from './keptRequests.ts';

/** For so long a key is held by a process of which nothing more is heard. */
export const HOLD_MS = 10_000;

/** After these something may have been written, in this try or an earlier one; after all others nothing was. */
const uncertain: ReadonlySet<ErrorCode> = new Set([
  'unavailable',
  'overloaded',
  'unreadable',
  'internal',
  'idempotency_key_reused',
  'gone',
]);

export interface ReservationPorts {
  stateStore: StateStore;
  clock: Clock;
  digests: KeyDigests;
}

/**
 * A key that is held for one request, while that is under way. It ends with `complete` or `abandon`; should the process
 * end before, the next request with the key takes it over some seconds later.
 */
export class Reservation {
  /** Id for the request's event. It stays the same over all its tries. */
  readonly eventId: string;
  /** Set where an earlier try may have appended the event. */
  readonly earlier: EarlierTry | undefined;
  readonly #ports: ReservationPorts;
  readonly #key: KeyOfCaller;
  #row: KeptRow;
  #writing: Promise<unknown> = Promise.resolve();
  readonly #renewal: NodeJS.Timeout;

  /** `row` is in the store already. */
  constructor(ports: ReservationPorts, key: KeyOfCaller, row: KeptRow, isRepeat: boolean) {
    this.#ports = ports;
    this.#key = key;
    this.#row = row;
    this.eventId = row.body.eventId;
    this.earlier = isRepeat ? { eventId: this.eventId, appended: false } : undefined;
    const renew = () =>
      this.#write(() => ({ heldUntil: ports.clock.now() + HOLD_MS })).catch(() => undefined);
    this.#renewal = setInterval(renew, HOLD_MS / 3).unref();
  }

  /**
   * Notes what the request says, where that was not known when its key was reserved; to be called before anything is
   * appended. Rejects with `idempotency_key_reused` when an earlier try said something else, and with `unavailable`.
   */
  async bind(payload: object): Promise<void> {
    const digest = this.#ports.digests.ofPayload(payload);
    const { payload: known } = this.#row.body;
    if (known !== undefined && known !== digest) throw keyReused();
    if (known === undefined && !(await this.#write(() => ({ payload: digest })))) throw keyInUse();
  }

  /**
   * Keeps what the request came to, a JSON value. It never rejects: what cannot be noted now is found out by the next
   * request with the key.
   */
  async complete(result: unknown): Promise<void> {
    const sealed = this.#ports.digests.sealResult(this.#key, result);
    await this.#end(() => this.#write(() => ({ heldUntil: 0, result: sealed })));
  }

  /**
   * Gives up after an error. When that says that nothing was written, the key is free again, for a corrected request, too;
   * else the next request with the key finds out. It never rejects.
   */
  async abandon(error: unknown): Promise<void> {
    const isRefusal = error instanceof ServiceError && !uncertain.has(error.code);
    const release = () => this.#ports.stateStore.remove(keptRequests, [this.#row.id], this.#row.revision);
    await this.#end(isRefusal ? release : () => this.#write(() => ({ heldUntil: 0 })));
  }

  async #end(last: () => Promise<unknown>): Promise<void> {
    clearInterval(this.#renewal);
    await this.#writing;
    await last().catch(() => undefined);
  }

  /** Changes the row, one change after the other; false when another process took the key over. */
  #write(change: () => Partial<KeptRequest>): Promise<boolean> {
    const write = this.#writing.then(async () => {
      const row = changedRow(this.#row, { ...this.#row.body, ...change() });
      const isOurs = await this.#ports.stateStore.swap(keptRequests, row, this.#row.revision);
      if (isOurs) this.#row = row;
      return isOurs;
    });
    this.#writing = write.catch(() => undefined);
    return write;
  }
}

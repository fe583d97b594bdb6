import { type ErrorCode, ServiceError } from '../errors.ts';
import type { EarlierTry } from '../events/newEvent.ts';
import type { Clock } from '../ports/clock.ts';
import type { StateStore } from '../ports/stateStore.ts';
import { HeldRow } from './HeldRow.ts';
import { keyInUse, keyReused } from './idempotencyRefusals.ts';
import type { KeyDigests, KeyOfCaller } from './KeyDigests.ts';
import { type KeptRequest, type KeptRow, keptRequests } from './keptRequests.ts';

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
  readonly #held: HeldRow<KeptRequest>;

  /** `row` is in the store already. */
  constructor(ports: ReservationPorts, key: KeyOfCaller, row: KeptRow, isRepeat: boolean) {
    this.#ports = ports;
    this.#key = key;
    this.#held = new HeldRow(ports, keptRequests, row);
    this.eventId = row.body.eventId;
    this.earlier = isRepeat ? { eventId: this.eventId, appended: false } : undefined;
  }

  /**
   * Notes what the request says, where that was not known when its key was reserved; to be called before anything is
   * appended. Rejects with `idempotency_key_reused` when an earlier try said something else, and with `unavailable`.
   */
  async bind(payload: object): Promise<void> {
    const digest = this.#ports.digests.ofPayload(payload);
    const { payload: known } = this.#held.row.body;
    if (known !== undefined && known !== digest) throw keyReused();
    const bound = (body: KeptRequest) => ({ ...body, payload: digest });
    if (known === undefined && !(await this.#held.write(bound))) throw keyInUse();
  }

  /**
   * Keeps what the request came to, a JSON value. It never rejects: what cannot be noted now is found out by the next
   * request with the key.
   */
  async complete(result: unknown): Promise<void> {
    const sealed = this.#ports.digests.sealResult(this.#key, result);
    await this.#held.end(() => this.#held.write((body) => ({ ...body, heldUntil: 0, result: sealed })));
  }

  /**
   * Gives up after an error. When that says that nothing was written, the key is free again, for a corrected request, too;
   * else the next request with the key finds out. It never rejects.
   */
  async abandon(error: unknown): Promise<void> {
    const isRefusal = error instanceof ServiceError && !uncertain.has(error.code);
    const release = () => {
      const { id, revision } = this.#held.row;
      return this.#ports.stateStore.remove(keptRequests, [id], revision);
    };
    const leave = () => this.#held.write((body) => ({ ...body, heldUntil: 0 }));
    await this.#held.end(isRefusal ? release : leave);
  }
}

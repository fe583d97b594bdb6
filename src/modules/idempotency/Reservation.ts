import type { EarlierTry } from '../../domain/events/newEvent.ts';
import { type ErrorCode, ServiceError } from '../../platform/errors.ts';
import type { Clock } from '../../storage/clock.ts';
import type { StateStore } from '../../storage/stateStore.ts';
import { HeldRow } from './HeldRow.ts';
import { keyInUse, keyReused } from './idempotencyRefusals.ts';
import type { KeyDigests, KeyOfCaller } from './KeyDigests.ts';
import { type KeptRequest, type KeptRow, keptRequests } from './keptRequests.ts';

/** After these errors something may have been written, in this try or an earlier one; after all others nothing was. */
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
 * A key that is held for one request while it is under way. It ends with `complete` or `abandon`; if the process ends before, the
 * next request with the key takes it over some seconds later.
 */
export class Reservation {
  /** Id for the request's event. It stays the same in all its tries. */
  readonly eventId: string;
  /** Set if an earlier try may have appended the event. */
  readonly earlier: EarlierTry | undefined;
  readonly #ports: ReservationPorts;
  readonly #key: KeyOfCaller;
  readonly #held: HeldRow<KeptRequest>;

  /** `row` is already in the store. */
  constructor(ports: ReservationPorts, key: KeyOfCaller, row: KeptRow, isRepeat: boolean) {
    this.#ports = ports;
    this.#key = key;
    this.#held = new HeldRow(ports, keptRequests, row);
    this.eventId = row.body.eventId;
    this.earlier = isRepeat ? { eventId: this.eventId, appended: false } : undefined;
  }

  /**
   * Records the request's payload, if that was not known when its key was reserved; must be called before anything is appended.
   * Rejects with `idempotency_key_reused` when an earlier try had a different payload, and with `unavailable`.
   */
  async bind(payload: object): Promise<void> {
    const digest = this.#ports.digests.ofPayload(payload);
    const { payload: known } = this.#held.row.body;
    if (known !== undefined && known !== digest) throw keyReused();
    const bound = (body: KeptRequest) => ({ ...body, payload: digest });
    if (known === undefined && !(await this.#held.write(bound))) throw keyInUse();
  }

  /**
   * Stores the request's result, a JSON value. Never rejects: what cannot be recorded now is determined by the next request with
   * the key.
   */
  async complete(result: unknown): Promise<void> {
    const sealed = this.#ports.digests.sealResult(this.#key, result);
    await this.#held.end(() => this.#held.write((body) => ({ ...body, heldUntil: 0, result: sealed })));
  }

  /**
   * Gives up after an error. If the error means that nothing was written, the key is free again, even for a corrected request;
   * otherwise the next request with the key finds out. Never rejects.
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

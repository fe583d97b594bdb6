import type { Caller } from '../events/newEvent.ts';
import type { Clock } from '../ports/clock.ts';
import type { StateStore } from '../ports/stateStore.ts';
import { HOLD_MS } from './HeldRow.ts';
import { keyInUse, keyReused } from './idempotencyRefusals.ts';
import { KeptAnswer } from './KeptAnswer.ts';
import { KeyDigests, type KeyOfCaller } from './KeyDigests.ts';
import { type KeptRow, keptRequests, newRow } from './keptRequests.ts';
import { Reservation, type ReservationPorts } from './Reservation.ts';

/** For so long a repeat is answered as the first request was. */
export const KEPT_MS = 24 * 3_600_000;

export interface ReservationsPorts {
  stateStore: StateStore;
  clock: Clock;
  /** Keys the digests; the same in all instances of an installation. */
  secret(): Promise<Uint8Array>;
}

/**
 * Idempotency keys: each lets one request of its API key write once, on all instances together
 * (draft-ietf-httpapi-idempotency-key-header). A request reserves its key, with an id for its event; appends that event;
 * then keeps what it came to. Whoever takes over the key of one that was cut off in between looks for the event first.
 * When the store is lost, repeats are requests like any other.
 */
export class Reservations {
  readonly #ports: ReservationsPorts;
  #digests: Promise<KeyDigests> | undefined;

  constructor(ports: ReservationsPorts) {
    this.#ports = ports;
  }

  /**
   * Reserves a key for a request, or gives what the first request with it came to. `payload` is a JSON value of all that makes
   * two requests the same one; where it is not known yet, the reservation is told by `bind`. Rejects with
   * `idempotency_key_in_use` while the first request is under way, `idempotency_key_reused` when that was another one, and
   * `unavailable`.
   */
  async reserve(caller: Caller, key: string, payload?: object): Promise<Reservation | KeptAnswer> {
    const { stateStore, clock } = this.#ports;
    const digests = await this.#openDigests();
    const ofCaller = { caller, key };
    const now = clock.now();
    const digest = payload && digests.ofPayload(payload);
    const fresh = newRow(digests.idOf(ofCaller), now, {
      eventId: caller.requestId,
      payload: digest,
      heldUntil: now + HOLD_MS,
    });
    const ports = { stateStore, clock, digests };
    if (await stateStore.swap(keptRequests, fresh, undefined)) {
      return new Reservation(ports, ofCaller, fresh, false);
    }
    const [found] = await stateStore.load(keptRequests, [fresh.id]);
    // It was released this moment.
    if (found === undefined) throw keyInUse();
    if (found.revision < expired(now)) return takeOver(ports, ofCaller, found, fresh);
    const { payload: known, heldUntil, result } = found.body;
    if (digest !== undefined && known !== undefined && digest !== known) throw keyReused();
    if (result !== undefined) {
      return new KeptAnswer(digests, known, () => digests.unsealResult(ofCaller, result));
    }
    if (heldUntil > now) throw keyInUse();
    const { eventId } = known === undefined ? fresh.body : found.body;
    const body = { eventId, payload: known ?? digest, heldUntil: now + HOLD_MS };
    return takeOver(ports, ofCaller, found, { ...found, revision: found.revision + 1, body });
  }

  /** Removes what is older than 24 hours. Rejects with `unavailable`. */
  prune(): Promise<void> {
    return this.#ports.stateStore.prune(keptRequests, expired(this.#ports.clock.now()));
  }

  #openDigests(): Promise<KeyDigests> {
    if (this.#digests === undefined) {
      this.#digests = this.#ports.secret().then((secret) => new KeyDigests(secret));
      this.#digests.catch(() => {
        this.#digests = undefined;
      });
    }
    return this.#digests;
  }
}

/** The revision below which rows have expired. */
function expired(now: number): number {
  return (now - KEPT_MS) * 1000;
}

/** Puts a row in the place of one that nobody holds. Of several who do so at once one succeeds. */
async function takeOver(
  ports: ReservationPorts,
  key: KeyOfCaller,
  found: KeptRow,
  row: KeptRow,
): Promise<Reservation> {
  if (!(await ports.stateStore.swap(keptRequests, row, found.revision))) throw keyInUse();
  return new Reservation(ports, key, row, row.body.eventId === found.body.eventId);
}

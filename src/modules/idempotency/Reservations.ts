import type { Caller } from '../../domain/events/newEvent.ts';
import type { Clock } from '../../storage/clock.ts';
import type { StateStore } from '../../storage/stateStore.ts';
import { HOLD_MS, isHeld } from './HeldRow.ts';
import { keyInUse, keyReused } from './idempotencyRefusals.ts';
import { KeptAnswer } from './KeptAnswer.ts';
import { KeyDigests, type KeyOfCaller } from './KeyDigests.ts';
import { type KeptRow, keptRequests, newRow } from './keptRequests.ts';
import { Reservation, type ReservationPorts } from './Reservation.ts';

/** How long a repeat is answered as the first request was. */
export const KEPT_MS = 24 * 3_600_000;

export interface ReservationsPorts {
  stateStore: StateStore;
  clock: Clock;
  /**
   * The keys of the digests; the same in all instances of an installation. The first is the current one, the others preceded it.
   */
  secrets(): Promise<readonly Uint8Array[]>;
}

/**
 * Idempotency keys: each lets one request of its API key write once, across all instances
 * (draft-ietf-httpapi-idempotency-key-header). A request reserves its key, with an id for its event; appends that event; then
 * stores its result. A request that takes over the key of an interrupted one looks for the event first. If the store is lost,
 * repeats are treated like any other request.
 */
export class Reservations {
  readonly #ports: ReservationsPorts;
  readonly #digests = new WeakMap<Uint8Array, KeyDigests>();

  constructor(ports: ReservationsPorts) {
    this.#ports = ports;
  }

  /**
   * Reserves a key for a request, or returns the result of the first request with it. `payload` is a JSON value of everything
   * that makes two requests the same; if it is not known yet, it is given to the reservation by `bind`. Rejects with
   * `idempotency_key_in_use` while the first request is under way, `idempotency_key_reused` when that was a different one, and
   * `unavailable`.
   */
  async reserve(caller: Caller, key: string, payload?: object): Promise<Reservation | KeptAnswer> {
    const { stateStore, clock } = this.#ports;
    const [digests, ...before] = await this.#openDigests();
    const now = clock.now();
    const request: Request = { key: { caller, key }, payload, now, requestId: caller.requestId };
    for (const earlier of before) {
      const [found] = await stateStore.load(keptRequests, [earlier.idOf(request.key)]);
      if (found && found.revision >= expired(now)) return this.#goOn(earlier, request, found);
    }
    const fresh = rowOf(digests, request);
    if (await stateStore.swap(keptRequests, fresh, undefined)) {
      return new Reservation({ stateStore, clock, digests }, request.key, fresh, false);
    }
    const [found] = await stateStore.load(keptRequests, [fresh.id]);
    // It was released just now.
    if (found === undefined) throw keyInUse();
    return this.#goOn(digests, request, found);
  }

  /** Handles a request with a key that already has a row. */
  async #goOn(digests: KeyDigests, request: Request, found: KeptRow): Promise<Reservation | KeptAnswer> {
    const { stateStore, clock } = this.#ports;
    const { key, now } = request;
    const ports = { stateStore, clock, digests };
    const fresh = rowOf(digests, request);
    if (found.revision < expired(now)) return takeOver(ports, key, found, fresh);
    const { payload: digest } = fresh.body;
    const { payload: known, result } = found.body;
    if (digest !== undefined && known !== undefined && digest !== known) throw keyReused();
    if (result !== undefined) {
      return new KeptAnswer(digests, known, () => digests.unsealResult(key, result));
    }
    if (isHeld(found.body, now)) throw keyInUse();
    const { eventId } = known === undefined ? fresh.body : found.body;
    const body = { eventId, payload: known ?? digest, heldUntil: now + HOLD_MS };
    return takeOver(ports, key, found, { ...found, revision: found.revision + 1, body });
  }

  /** Removes what is older than 24 hours. Rejects with `unavailable`. */
  prune(): Promise<void> {
    return this.#ports.stateStore.prune(keptRequests, expired(this.#ports.clock.now()));
  }

  async #openDigests(): Promise<[KeyDigests, ...KeyDigests[]]> {
    const secrets = await this.#ports.secrets();
    const digests = secrets.map((secret) => {
      const known = this.#digests.get(secret) ?? new KeyDigests(secret);
      this.#digests.set(secret, known);
      return known;
    });
    return digests as [KeyDigests, ...KeyDigests[]];
  }
}

/** A request with an idempotency key. */
interface Request {
  key: KeyOfCaller;
  payload: object | undefined;
  requestId: string;
  now: number;
}

/** Returns the row for the first request with a key. */
function rowOf(digests: KeyDigests, { key, payload, requestId: eventId, now }: Request): KeptRow {
  const digest = payload && digests.ofPayload(payload);
  return newRow(digests.idOf(key), now, { eventId, payload: digest, heldUntil: now + HOLD_MS });
}

/** Returns the revision below which rows have expired. */
function expired(now: number): number {
  return (now - KEPT_MS) * 1000;
}

/** Replaces a row that nobody holds. Of several concurrent attempts, one succeeds. */
async function takeOver(
  ports: ReservationPorts,
  key: KeyOfCaller,
  found: KeptRow,
  row: KeptRow,
): Promise<Reservation> {
  if (!(await ports.stateStore.swap(keptRequests, row, found.revision))) throw keyInUse();
  return new Reservation(ports, key, row, row.body.eventId === found.body.eventId);
}

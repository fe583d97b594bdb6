import { createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { canonicalJson } from '../../domain/events/canonicalJson.ts';
import type { Caller, EarlierTry } from '../../domain/events/newEvent.ts';
import { decrypt, encrypt } from '../../platform/encryption.ts';
import { type ErrorCode, ServiceError } from '../../platform/errors.ts';
import type { Clock } from '../../storage/rateLimiters.ts';
import type { StateRow, StateStore, StateTable } from '../../storage/stateStore.ts';
import { keyInUse, keyReused, nestedTooDeeply } from './keys.ts';

/** How long a row stays held by a process that shows no more signs of life. */
export const RESERVATION_MS = 10_000;

/**
 * By how much the clocks of instances may differ, in milliseconds: a hold that ends later than that was made before the clock was
 * set back.
 */
const CLOCKS_APART_MS = 60_000;

/** What a body says about the holder of its row. */
export interface Reserved {
  /** Until when it is held, unless extended. In milliseconds since 1970; 0: not held. */
  heldUntil: number;
}

/** Whether a row is held at a time, in milliseconds since 1970. */
export function isReserved({ heldUntil }: Reserved, now: number): boolean {
  return heldUntil > now && heldUntil <= now + RESERVATION_MS + CLOCKS_APART_MS;
}

/**
 * A row of the state store that this process holds until `end`. If the process ends before, the hold expires some seconds later.
 * Others replace the row by a compare-and-set, after which it is no longer held.
 */
export class IdempotencyRecord<Body extends Reserved> {
  readonly #stateStore: StateStore;
  readonly #table: StateTable<Body>;
  #row: StateRow<Body>;
  #writing: Promise<unknown> = Promise.resolve();
  readonly #renewal: NodeJS.Timeout;

  /** `row` is already in the store. */
  constructor(
    { stateStore, clock }: { stateStore: StateStore; clock: Clock },
    table: StateTable<Body>,
    row: StateRow<Body>,
  ) {
    this.#stateStore = stateStore;
    this.#table = table;
    this.#row = row;
    const renew = () =>
      this.write((body) => ({ ...body, heldUntil: clock.now() + RESERVATION_MS })).catch(() => undefined);
    this.#renewal = setInterval(renew, RESERVATION_MS / 3).unref();
  }

  get row(): StateRow<Body> {
    return this.#row;
  }

  /** Changes the row, one change after the other; false when another process took it over. Rejects with `unavailable`. */
  write(change: (body: Body) => Body): Promise<boolean> {
    const write = this.#writing.then(async () => {
      const { revision, body } = this.#row;
      const row = { ...this.#row, revision: revision + 1, body: change(body) };
      const isOurs = await this.#stateStore.swap(this.#table, row, revision);
      if (isOurs) this.#row = row;
      return isOurs;
    });
    this.#writing = write.catch(() => undefined);
    return write;
  }

  /** Stops renewing the hold, and does one last thing. Never rejects. */
  async end(last?: () => Promise<unknown>): Promise<void> {
    clearInterval(this.#renewal);
    await this.#writing;
    await last?.().catch(() => undefined);
  }
}

/** The result of a request that succeeded within the last 24 hours. */
export class StoredResponse {
  readonly #digests: KeyFingerprints;
  readonly #payload: string | undefined;
  readonly #open: () => unknown;

  constructor(digests: KeyFingerprints, payload: string | undefined, open: () => unknown) {
    this.#digests = digests;
    this.#payload = payload;
    this.#open = open;
  }

  /** Returns the result, for a repeat of the request. Throws `idempotency_key_reused` when the payload differs. */
  resultFor(payload: object): unknown {
    if (this.#digests.ofPayload(payload) !== this.#payload) throw keyReused();
    return this.#open();
  }
}

const SECRET_BYTES = 32;

/** Digests (HMAC) that only the service's secret can produce: their input cannot be guessed from them. */
export class KeyedDigests {
  readonly #secret: KeyObject;

  /** `secret` may serve other purposes, too: what is used here is derived from it, for a purpose. */
  constructor(secret: Uint8Array, purpose: string) {
    this.#secret = createSecretKey(new Uint8Array(hkdfSync('sha256', secret, '', purpose, SECRET_BYTES)));
  }

  /** Returns the digest of a JSON value, for one use: equal for equal values. */
  of(use: string, value: object): Buffer {
    return createHmac('sha256', this.#secret).update(`${use}\n`).update(canonicalJson(value)).digest();
  }
}

/** An idempotency key, and whose it is: the same text from a different sender is a different key. */
interface KeyOfCaller {
  caller: Pick<Caller, 'workspace' | 'principal'>;
  key: string;
}

/**
 * What is stored of idempotency keys and payloads: digests that only the service's secret can produce. Results are sealed with a
 * key derived from both the secret and the idempotency key, which is stored nowhere: reading the store does not allow opening
 * them.
 */
class KeyFingerprints {
  readonly #digests: KeyedDigests;

  /** `secret` may serve other purposes, too: what is used here is derived from it. */
  constructor(secret: Uint8Array) {
    this.#digests = new KeyedDigests(secret, 'idempotency keys');
  }

  /** Returns the id of a key's row. */
  idOf(key: KeyOfCaller): string {
    return this.#digest('key', partsOf(key)).toString('base64url');
  }

  /**
   * Returns the digest of a request's payload, and of anything else that makes it the same request: equal for equal JSON values.
   * Throws `malformed_body` for one with thousands of levels, which no call stack holds.
   */
  ofPayload(payload: object): string {
    try {
      return this.#digest('payload', payload).toString('base64url');
    } catch (error) {
      throw error instanceof RangeError ? nestedTooDeeply() : error;
    }
  }

  /** Seals the JSON value; `undefined` is treated as `null`. */
  sealResult(key: KeyOfCaller, result: unknown): string {
    return encrypt(this.#digest('result', partsOf(key)), '', JSON.stringify(result ?? null));
  }

  /** Returns what `sealResult` was given. Throws when it was given for another key, or is damaged. */
  unsealResult(key: KeyOfCaller, sealed: string): unknown {
    return JSON.parse(decrypt(this.#digest('result', partsOf(key)), '', sealed));
  }

  #digest(use: string, value: object): Buffer {
    return this.#digests.of(`idempotency ${use}`, value);
  }
}

function partsOf({ caller: { workspace, principal }, key }: KeyOfCaller): string[] {
  return [workspace, principal.type, principal.id, key];
}

/** What is stored of a request with an idempotency key: nothing of its contents. */
interface ReservedRequest extends Reserved {
  /** Id of the event that it appends, in whichever try. */
  eventId: string;
  /** Digest of its payload, once known. */
  payload?: string | undefined;
  /** Its result, sealed, once it succeeded. */
  result?: string | undefined;
}

/** A row's revision is the time of the request in microseconds, plus one for each change. */
type ReservedRow = StateRow<ReservedRequest>;

export const reservedRequests: StateTable<ReservedRequest> = {
  name: 'idempotency_keys_v1',
  body: z.object({
    eventId: z.string(),
    payload: z.string().optional(),
    heldUntil: z.number(),
    result: z.string().optional(),
  }),
};

/** Returns a row that is first written at that time. */
function newRow(id: string, now: number, body: ReservedRequest): ReservedRow {
  return { id, partition: id, order: 0, revision: now * 1000, body };
}

/** After these errors something may have been written, in this try or an earlier one; after all others nothing was. */
const uncertain: ReadonlySet<ErrorCode> = new Set([
  'unavailable',
  'overloaded',
  'unreadable',
  'internal',
  'idempotency_key_reused',
  'gone',
]);

interface ReservationPorts {
  stateStore: StateStore;
  clock: Clock;
  digests: KeyFingerprints;
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
  readonly #held: IdempotencyRecord<ReservedRequest>;

  /** `row` is already in the store. */
  constructor(ports: ReservationPorts, key: KeyOfCaller, row: ReservedRow, isRepeat: boolean) {
    this.#ports = ports;
    this.#key = key;
    this.#held = new IdempotencyRecord(ports, reservedRequests, row);
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
    const bound = (body: ReservedRequest) => ({ ...body, payload: digest });
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
      return this.#ports.stateStore.remove(reservedRequests, [id], revision);
    };
    const leave = () => this.#held.write((body) => ({ ...body, heldUntil: 0 }));
    await this.#held.end(isRefusal ? release : leave);
  }
}

/** How long a repeat is answered as the first request was. */
export const RESPONSE_TTL_MS = 24 * 3_600_000;

interface ReservationsPorts {
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
  readonly #digests = new WeakMap<Uint8Array, KeyFingerprints>();

  constructor(ports: ReservationsPorts) {
    this.#ports = ports;
  }

  /**
   * Reserves a key for a request, or returns the result of the first request with it. `payload` is a JSON value of everything
   * that makes two requests the same; if it is not known yet, it is given to the reservation by `bind`. Rejects with
   * `idempotency_key_in_use` while the first request is under way, `idempotency_key_reused` when that was a different one, and
   * `unavailable`.
   */
  async reserve(caller: Caller, key: string, payload?: object): Promise<Reservation | StoredResponse> {
    const { stateStore, clock } = this.#ports;
    const [digests, ...before] = await this.#openDigests();
    const now = clock.now();
    const request: Request = { key: { caller, key }, payload, now, requestId: caller.requestId };
    for (const earlier of before) {
      const [found] = await stateStore.load(reservedRequests, [earlier.idOf(request.key)]);
      if (found && found.revision >= expired(now)) return this.#resume(earlier, request, found);
    }
    const fresh = rowOf(digests, request);
    if (await stateStore.swap(reservedRequests, fresh, undefined)) {
      return new Reservation({ stateStore, clock, digests }, request.key, fresh, false);
    }
    const [found] = await stateStore.load(reservedRequests, [fresh.id]);
    // It was released just now.
    if (found === undefined) throw keyInUse();
    return this.#resume(digests, request, found);
  }

  /** Handles a request with a key that already has a row. */
  async #resume(
    digests: KeyFingerprints,
    request: Request,
    found: ReservedRow,
  ): Promise<Reservation | StoredResponse> {
    const { stateStore, clock } = this.#ports;
    const { key, now } = request;
    const ports = { stateStore, clock, digests };
    const fresh = rowOf(digests, request);
    if (found.revision < expired(now)) return replaceExpired(ports, key, found, fresh);
    const { payload: digest } = fresh.body;
    const { payload: known, result } = found.body;
    if (digest !== undefined && known !== undefined && digest !== known) throw keyReused();
    if (result !== undefined) {
      return new StoredResponse(digests, known, () => digests.unsealResult(key, result));
    }
    if (isReserved(found.body, now)) throw keyInUse();
    const { eventId } = known === undefined ? fresh.body : found.body;
    const body = { eventId, payload: known ?? digest, heldUntil: now + RESERVATION_MS };
    return replaceExpired(ports, key, found, { ...found, revision: found.revision + 1, body });
  }

  /** Removes what is older than 24 hours. Rejects with `unavailable`. */
  prune(): Promise<void> {
    return this.#ports.stateStore.prune(reservedRequests, expired(this.#ports.clock.now()));
  }

  async #openDigests(): Promise<[KeyFingerprints, ...KeyFingerprints[]]> {
    const secrets = await this.#ports.secrets();
    const digests = secrets.map((secret) => {
      const known = this.#digests.get(secret) ?? new KeyFingerprints(secret);
      this.#digests.set(secret, known);
      return known;
    });
    return digests as [KeyFingerprints, ...KeyFingerprints[]];
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
function rowOf(digests: KeyFingerprints, { key, payload, requestId: eventId, now }: Request): ReservedRow {
  const digest = payload && digests.ofPayload(payload);
  return newRow(digests.idOf(key), now, { eventId, payload: digest, heldUntil: now + RESERVATION_MS });
}

/** Returns the revision below which rows have expired. */
function expired(now: number): number {
  return (now - RESPONSE_TTL_MS) * 1000;
}

/** Replaces a row that nobody holds. Of several concurrent attempts, one succeeds. */
async function replaceExpired(
  ports: ReservationPorts,
  key: KeyOfCaller,
  found: ReservedRow,
  row: ReservedRow,
): Promise<Reservation> {
  if (!(await ports.stateStore.swap(reservedRequests, row, found.revision))) throw keyInUse();
  return new Reservation(ports, key, row, row.body.eventId === found.body.eventId);
}

import { createHmac, hkdfSync } from 'node:crypto';
import { canonicalJson } from '../../domain/events/canonicalJson.ts';

const SECRET_BYTES = 32;

/** Digests (HMAC) that only the service's secret can produce: their input cannot be guessed from them. */
export class KeyedDigests {
  readonly #secret: Uint8Array;

  /** `secret` may serve other purposes, too: what is used here is derived from it, for a purpose. */
  constructor(secret: Uint8Array, purpose: string) {
    this.#secret = new Uint8Array(hkdfSync('sha256', secret, '', purpose, SECRET_BYTES));
  }

  /** Returns the digest of a JSON value, for one use: equal for equal values. */
  of(use: string, value: object): Buffer {
    return createHmac('sha256', this.#secret).update(`${use}\n`).update(canonicalJson(value)).digest();
  }
}

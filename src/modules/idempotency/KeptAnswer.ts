import { keyReused } from './idempotencyRefusals.ts';
import type { KeyDigests } from './KeyDigests.ts';

/** The result of a request that succeeded within the last 24 hours. */
export class KeptAnswer {
  readonly #digests: KeyDigests;
  readonly #payload: string | undefined;
  readonly #open: () => unknown;

  constructor(digests: KeyDigests, payload: string | undefined, open: () => unknown) {
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

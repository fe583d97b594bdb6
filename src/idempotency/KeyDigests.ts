import { createHmac, hkdfSync } from 'node:crypto';
import { canonicalJson } from '../events/canonicalJson.ts';
import type { Caller } from '../events/newEvent.ts';
import { seal, unseal } from '../sealing.ts';

const SECRET_BYTES = 32;

/** An idempotency key, and whose it is: the same text of another API key is another key. */
export interface KeyOfCaller {
  caller: Pick<Caller, 'workspace' | 'principal'>;
  key: string;
}

/**
 * What is kept of idempotency keys and payloads: digests that only the service's secret makes. Results are sealed with a key
 * that takes both the secret and the idempotency key, which is kept nowhere: whoever reads the store cannot open them.
 */
export class KeyDigests {
  readonly #secret: Uint8Array;

  /** `secret` may serve something else, too: what is used here is derived from it. */
  constructor(secret: Uint8Array) {
    this.#secret = new Uint8Array(hkdfSync('sha256', secret, '', 'idempotency keys', SECRET_BYTES));
  }

  /** Id of the row of a key. */
  idOf(key: KeyOfCaller): string {
    return this.#digest('key', partsOf(key)).toString('base64url');
  }

  /** Digest of a request's payload, and of whatever else makes it the same request: equal for equal JSON values. */
  ofPayload(payload: object): string {
    return this.#digest('payload', payload).toString('base64url');
  }

  /** The JSON value, sealed; `undefined` is taken for `null`. */
  sealResult(key: KeyOfCaller, result: unknown): string {
    return seal(this.#digest('result', partsOf(key)), '', JSON.stringify(result ?? null));
  }

  /** What `sealResult` was given. Throws when it was given for another key, or is damaged. */
  unsealResult(key: KeyOfCaller, sealed: string): unknown {
    return JSON.parse(unseal(this.#digest('result', partsOf(key)), '', sealed));
  }

  #digest(use: string, value: object): Buffer {
    return createHmac('sha256', this.#secret)
      .update(`idempotency ${use}\n`)
      .update(canonicalJson(value))
      .digest();
  }
}

function partsOf({ caller: { workspace, principal }, key }: KeyOfCaller): string[] {
  return [workspace, principal.type, principal.id, key];
}

import type { Caller } from '../../domain/events/newEvent.ts';
import { seal, unseal } from '../../platform/sealing.ts';
import { nestedTooDeeply } from './idempotencyRefusals.ts';
import { KeyedDigests } from './KeyedDigests.ts';

/** An idempotency key, and whose it is: the same text from a different sender is a different key. */
export interface KeyOfCaller {
  caller: Pick<Caller, 'workspace' | 'principal'>;
  key: string;
}

/**
 * What is stored of idempotency keys and payloads: digests that only the service's secret can produce. Results are sealed with a
 * key derived from both the secret and the idempotency key, which is stored nowhere: reading the store does not allow opening
 * them.
 */
export class KeyDigests {
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
    return seal(this.#digest('result', partsOf(key)), '', JSON.stringify(result ?? null));
  }

  /** Returns what `sealResult` was given. Throws when it was given for another key, or is damaged. */
  unsealResult(key: KeyOfCaller, sealed: string): unknown {
    return JSON.parse(unseal(this.#digest('result', partsOf(key)), '', sealed));
  }

  #digest(use: string, value: object): Buffer {
    return this.#digests.of(`idempotency ${use}`, value);
  }
}

function partsOf({ caller: { workspace, principal }, key }: KeyOfCaller): string[] {
  return [workspace, principal.type, principal.id, key];
}

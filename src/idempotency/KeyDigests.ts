import type { Caller } from '../events/newEvent.ts';
import { seal, unseal } from '../sealing.ts';
import { KeyedDigests } from './KeyedDigests.ts';

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
  readonly #digests: KeyedDigests;

  /** `secret` may serve something else, too: what is used here is derived from it. */
  constructor(secret: Uint8Array) {
    this.#digests = new KeyedDigests(secret, 'idempotency keys');
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
    return this.#digests.of(`idempotency ${use}`, value);
  }
}

function partsOf({ caller: { workspace, principal }, key }: KeyOfCaller): string[] {
  return [workspace, principal.type, principal.id, key];
}

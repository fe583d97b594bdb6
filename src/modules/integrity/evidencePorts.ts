import type { Exports } from './Exports.ts';
import type { PublicKeys } from './PublicKeys.ts';
import type { SigningKey } from './SigningKey.ts';
import type { Verifications } from './Verifications.ts';

/** What the dashboard's evidence page works with. */
export interface EvidencePorts {
  verifications: Verifications;
  exports: Exports;
  /** Returns the keys for checking heads and exports; undefined when no key is known. Rejects with `unavailable`. */
  publicKeys(): Promise<PublicKeys | undefined>;
  /**
   * Returns the current signing key, called after the data to sign was obtained; undefined in a process that does not have the
   * key. Rejects with `unavailable`.
   */
  signingKey(): Promise<SigningKey | undefined>;
}

import type { Exports } from './export/Exports.ts';
import type { PublicKeys } from './keys/PublicKeys.ts';
import type { SigningKey } from './keys/SigningKey.ts';
import type { Verifications } from './verification/Verifications.ts';

/** What the dashboard's evidence page works with. */
export interface EvidencePorts {
  verifications: Verifications;
  exports: Exports;
  /** What checks heads and exports; undefined where no key is known. Rejects with `unavailable`. */
  publicKeys(): Promise<PublicKeys | undefined>;
  /** The key that signs now, asked for after what it is to sign; undefined in a process from which it is kept. Rejects with `unavailable`. */
  signingKey(): Promise<SigningKey | undefined>;
}

import type { KeyObject } from 'node:crypto';
import type { Exports } from './export/Exports.ts';
import type { Verifications } from './verification/Verifications.ts';

/** What the dashboard's evidence page works with. */
export interface EvidencePorts {
  verifications: Verifications;
  exports: Exports;
  /** The key that checks heads and exports; undefined where none is known. Rejects with `unavailable`. */
  publicKey(): Promise<KeyObject | undefined>;
  /** The key that signs; undefined in a process from which it is kept. Rejects with `unavailable`. */
  signingKey(): Promise<KeyObject | undefined>;
}

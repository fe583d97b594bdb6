import type { KeyObject } from 'node:crypto';
import type { Exports } from './export/Exports.ts';
import type { Verifications } from './verification/Verifications.ts';

/** What the dashboard's evidence page works with. */
export interface EvidencePorts {
  verifications: Verifications;
  exports: Exports;
  /** The key that checks heads and exports; undefined where none is known. Rejects with `unavailable`. */
  publicKey(): Promise<KeyObject | undefined>;
  /** Whether this process has the key that signs. Rejects with `unavailable`. */
  signs(): Promise<boolean>;
}

import { createPublicKey } from 'node:crypto';
import { signKeyRotation } from '../modules/integrity/keyRotation.ts';
import { keyId, parseSigningKey } from '../modules/integrity/signing.ts';
import { KnownKeys } from '../modules/KnownKeys.ts';
import { loadConfig } from '../platform/config.ts';
import { lastingKeys } from './keyFiles.ts';
import { terminal } from './terminal.ts';
import { operator, requireKeyFolder, withEventLog } from './withStores.ts';

/** The id of the current signing key, and whether this completed an interrupted rotation. */
export interface SigningKeyRotated {
  keyId: string;
  wasKnown: boolean;
}

/**
 * Replaces the signing key. From then on everything is signed with the new one, also by running processes. Rejects as
 * `KnownKeys.rotate` does.
 */
export async function rotateSigningKey(): Promise<SigningKeyRotated> {
  const config = loadConfig(terminal().env);
  requireKeyFolder(config.signingKey, config.dataDir);
  return withEventLog(async (eventLog) => {
    const keys = new KnownKeys(eventLog, lastingKeys(config));
    const log = await eventLog.identity();
    const { wasKnown } = await keys.rotate('signing', { principal: operator() }, async (current, next) => ({
      rotation: signKeyRotation(log, parseSigningKey(current), parseSigningKey(next)),
    }));
    const publicKey = createPublicKey(parseSigningKey(await keys.current('signing')));
    return { keyId: keyId(publicKey), wasKnown };
  });
}

import { createPublicKey } from 'node:crypto';
import { loadConfig } from '../../config.ts';
import { signKeyRotation } from '../../evidence/keys/keyRotation.ts';
import { keyId, parseSigningKey } from '../../evidence/signing.ts';
import { KnownKeys } from '../../sameLog/KnownKeys.ts';
import { terminal } from '../terminal.ts';
import { operator, requireKeyFolder, withEventLog } from '../withStores.ts';
import { lastingKeys } from './keyFiles.ts';

/** The id of the key that signs now, and whether a rotation that was cut off was brought to its end. */
export interface SigningKeyRotated {
  keyId: string;
  wasKnown: boolean;
}

/**
 * Lets a new key take the place of the one that signs. From then on what is signed is signed with it, also by what runs. Rejects as
 * `KnownKeys.rotate`.
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

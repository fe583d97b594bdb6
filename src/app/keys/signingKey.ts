import type { Config } from '../../config.ts';
import { ServiceError } from '../../errors.ts';
import { signingKeyRotations } from '../../evidence/keys/loggedRotations.ts';
import type { SigningKey } from '../../evidence/keys/SigningKey.ts';
import { parseSigningKey } from '../../evidence/signing.ts';
import type { EventLog } from '../../ports/eventLog.ts';
import { KnownKeys } from '../../sameLog/KnownKeys.ts';
import { type LastingKeyName, lastingKeys } from './keyFiles.ts';

type Keys = Config | KnownKeys<LastingKeyName>;

/**
 * The key that signs now, by what the log tells; made when there is none. Who asks for it after reading what it is to sign never
 * signs with a key that was replaced before. Rejects as `KnownKeys.current`.
 */
export async function openSigningKey(eventLog: EventLog, keys: Keys): Promise<SigningKey> {
  const privateKey = parseSigningKey(await knownOf(eventLog, keys).current('signing'));
  return { privateKey, rotations: await signingKeyRotations(eventLog) };
}

/**
 * The same where this process has it; undefined where it is kept from it, was lost, or is another one than the log knows. `isMade`: it
 * is made when there is none. Rejects with `unavailable`.
 */
export async function findSigningKey(
  eventLog: EventLog,
  keys: Keys,
  isMade: boolean,
): Promise<SigningKey | undefined> {
  const known = knownOf(eventLog, keys);
  try {
    if (!isMade && (await known.find('signing')) === undefined) return undefined;
    return await openSigningKey(eventLog, known);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'internal') return undefined;
    throw error;
  }
}

function knownOf(eventLog: EventLog, keys: Keys): KnownKeys<LastingKeyName> {
  return keys instanceof KnownKeys ? keys : new KnownKeys(eventLog, lastingKeys(keys));
}

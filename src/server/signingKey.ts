import { signingKeyRotations } from '../modules/integrity/loggedRotations.ts';
import type { SigningKey } from '../modules/integrity/SigningKey.ts';
import { parseSigningKey } from '../modules/integrity/signing.ts';
import { KnownKeys } from '../modules/KnownKeys.ts';
import type { Config } from '../platform/config.ts';
import { ServiceError } from '../platform/errors.ts';
import type { EventLog } from '../storage/eventLog.ts';
import { type LastingKeyName, lastingKeys } from './keyFiles.ts';

type Keys = Config | KnownKeys<LastingKeyName>;

/**
 * Returns the current signing key according to the log, creating it when there is none. Callers that request it after reading
 * what is to be signed never sign with a key that was replaced before that. Rejects as `KnownKeys.current` does.
 */
export async function openSigningKey(eventLog: EventLog, keys: Keys): Promise<SigningKey> {
  const privateKey = parseSigningKey(await knownOf(eventLog, keys).current('signing'));
  return { privateKey, rotations: await signingKeyRotations(eventLog) };
}

/**
 * The same if this process has it; undefined if it is withheld, was lost, or differs from the one in the log. `isMade`: create it
 * when there is none. Rejects with `unavailable`.
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

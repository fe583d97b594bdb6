import { createPublicKey, type KeyObject } from 'node:crypto';
import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import { ServiceError } from '../../errors.ts';
import type { EvidencePorts } from '../../evidence/evidencePorts.ts';
import { Exports } from '../../evidence/export/Exports.ts';
import { headsStatus } from '../../evidence/heads/headsStatus.ts';
import { parsePublicKey, parseSigningKey } from '../../evidence/signing.ts';
import { Verifications } from '../../evidence/verification/Verifications.ts';
import type { StateStore } from '../../ports/stateStore.ts';
import type { KnownKeys } from '../../sameLog/KnownKeys.ts';
import type { LastingKeyName } from '../keyFiles.ts';
import type { TaskPlaces } from '../requests/SharedMemory.ts';
import { exportInThread, verifyInThread } from './evidenceThread.ts';

interface EvidenceStores {
  stateStore: StateStore;
  knownKeys: KnownKeys<LastingKeyName>;
}

/** What the evidence page works with; `close` ends what is under way. */
export function openEvidence(
  config: Config,
  logger: Logger,
  { stateStore, knownKeys }: EvidenceStores,
  places?: TaskPlaces,
): EvidencePorts & { close(): Promise<void> } {
  const signingKey = () => ownSigningKey(config, knownKeys);
  const publicKey = async () => {
    const own = await signingKey();
    if (own) return createPublicKey(own);
    const pem = (await headsStatus(stateStore))?.public_key;
    return pem ? parsePublicKey(pem) : undefined;
  };
  const onFailure = (error: Record<string, unknown>) => logger.error({ error }, 'a verification failed');
  const run = verifyInThread(config);
  const ports = { stateStore, run, signingKey, publicKey, onFailure };
  const verifications = new Verifications({ ...ports, ...(places && { places: places.verifications }) });
  const exports = new Exports({
    run: exportInThread(config),
    signingKey,
    ...(places && { places: places.exports }),
  });
  return {
    verifications,
    exports,
    publicKey,
    signingKey,
    async close() {
      exports.close();
      await verifications.close();
    },
  };
}

/**
 * The key that signs, where this process has it. It is made only beside an embedded log, whose data folder is the one place for
 * it: elsewhere another process may be the one that is to have it.
 */
async function ownSigningKey(
  { eventLogUrl }: Config,
  knownKeys: KnownKeys<LastingKeyName>,
): Promise<KeyObject | undefined> {
  try {
    const isMade = eventLogUrl.startsWith('sqlite:');
    const bytes = await (isMade ? knownKeys.load('signing') : knownKeys.find('signing'));
    return bytes && parseSigningKey(bytes);
  } catch (error) {
    // It is another one than the log knows, or was lost, or is kept from this process.
    if (error instanceof ServiceError && error.code === 'internal') return undefined;
    throw error;
  }
}

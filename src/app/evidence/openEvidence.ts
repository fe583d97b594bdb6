import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import type { EvidencePorts } from '../../evidence/evidencePorts.ts';
import { Exports } from '../../evidence/export/Exports.ts';
import { headsStatus } from '../../evidence/heads/headsStatus.ts';
import { PublicKeys } from '../../evidence/keys/PublicKeys.ts';
import { publicKeysOf } from '../../evidence/keys/SigningKey.ts';
import { Verifications } from '../../evidence/verification/Verifications.ts';
import type { EventLog } from '../../ports/eventLog.ts';
import type { StateStore } from '../../ports/stateStore.ts';
import type { KnownKeys } from '../../sameLog/KnownKeys.ts';
import type { LastingKeyName } from '../keys/keyFiles.ts';
import { findSigningKey } from '../keys/signingKey.ts';
import type { TaskPlaces } from '../requests/SharedMemory.ts';
import { exportInThread, verifyInThread } from './evidenceThread.ts';

interface EvidenceStores {
  eventLog: EventLog;
  stateStore: StateStore;
  knownKeys: KnownKeys<LastingKeyName>;
}

/** Opens what the evidence page works with; `close` ends what is under way. */
export function openEvidence(
  config: Config,
  logger: Logger,
  { eventLog, stateStore, knownKeys }: EvidenceStores,
  places?: TaskPlaces,
): EvidencePorts & { close(): Promise<void> } {
  // It is created only beside an embedded log, whose data folder is the only place for it: elsewhere another process may be the
  // one intended to have it.
  const isMade = config.eventLogUrl.startsWith('sqlite:');
  const signingKey = () => findSigningKey(eventLog, knownKeys, isMade);
  const publicKeys = async () => {
    const own = await signingKey();
    if (own) return publicKeysOf(own);
    const told = (await headsStatus(stateStore))?.public_key;
    return told ? PublicKeys.parse(told) : undefined;
  };
  const onFailure = (error: Record<string, unknown>) => logger.error({ error }, 'a verification failed');
  const run = verifyInThread(config);
  const ports = { stateStore, run, signingKey, publicKeys, onFailure };
  const verifications = new Verifications({ ...ports, ...(places && { places: places.verifications }) });
  const exports = new Exports({
    run: exportInThread(config),
    signs: async () => (await signingKey()) !== undefined,
    ...(places && { places: places.exports }),
  });
  return {
    verifications,
    exports,
    publicKeys,
    signingKey,
    async close() {
      exports.close();
      await verifications.close();
    },
  };
}

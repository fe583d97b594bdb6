import type { Logger } from 'pino';
import { Exports } from '../modules/integrity/Exports.ts';
import type { EvidencePorts } from '../modules/integrity/evidencePorts.ts';
import { headsStatus } from '../modules/integrity/headsStatus.ts';
import { PublicKeys } from '../modules/integrity/PublicKeys.ts';
import { publicKeysOf } from '../modules/integrity/SigningKey.ts';
import { Verifications } from '../modules/integrity/Verifications.ts';
import type { KnownKeys } from '../modules/KnownKeys.ts';
import type { Config } from '../platform/config.ts';
import type { EventLog } from '../storage/eventLog.ts';
import type { StateStore } from '../storage/stateStore.ts';
import { exportInThread, verifyInThread } from './evidenceThread.ts';
import type { LastingKeyName } from './keyFiles.ts';
import type { TaskPlaces } from './SharedMemory.ts';
import { findSigningKey } from './signingKey.ts';

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

import { KnownKeys } from '../modules/KnownKeys.ts';
import { loadConfig } from '../platform/config.ts';
import { lastingKeys } from './keyFiles.ts';
import { terminal } from './terminal.ts';
import { operator, requireKeyFolder, withEventLog } from './withStores.ts';

/** The new epoch, and whether this completed an interrupted rotation. */
export interface PseudonymsRotated {
  epoch: number;
  wasKnown: boolean;
}

/** Replaces the key for the hashes in the de-identified view: all hashes change. Rejects as `KnownKeys.rotate` does. */
export async function rotatePseudonyms(): Promise<PseudonymsRotated> {
  const config = loadConfig(terminal().env);
  requireKeyFolder(config.deidentificationKey, config.dataDir);
  return withEventLog(async (eventLog) => {
    const { wasKnown } = await new KnownKeys(eventLog, lastingKeys(config)).rotate('deidentification', {
      principal: operator(),
    });
    const { epoch } = await new KnownKeys(eventLog, lastingKeys(config)).loadEpoch('deidentification');
    return { epoch, wasKnown };
  });
}

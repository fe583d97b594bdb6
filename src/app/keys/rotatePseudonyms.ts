import { loadConfig } from '../../config.ts';
import { KnownKeys } from '../../sameLog/KnownKeys.ts';
import { terminal } from '../terminal.ts';
import { operator, requireKeyFolder, withEventLog } from '../withStores.ts';
import { lastingKeys } from './keyFiles.ts';

/** The epoch that begins, and whether a rotation that was cut off was brought to its end. */
export interface PseudonymsRotated {
  epoch: number;
  wasKnown: boolean;
}

/**
 * Lets a new key take the place of the one of the hashes in the de-identified view: all of them are others from then on. Rejects as
 * `KnownKeys.rotate`.
 */
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

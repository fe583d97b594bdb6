import { createHash } from 'node:crypto';
import type { Caller } from '../domain/events/newEvent.ts';
import { Keyring } from '../modules/keyring.ts';
import { type WriteWarehouseOptions, writeWarehouse } from '../modules/warehouse/write.ts';
import type { Config } from '../platform/config.ts';
import { ServiceError } from '../platform/errors.ts';
import type { EventLog } from '../storage/eventLog.ts';
import { withLeases } from './exclusiveLock.ts';
import { managedKeys } from './keys.ts';
import { openWarehouse } from './openStorage.ts';
import { requireKeyFolder } from './stores.ts';

interface KeepWarehouseOptions extends Omit<WriteWarehouseOptions, 'pseudonyms'> {
  /** A folder, or the URL of a PostgreSQL database. */
  place: string;
  deidentified: boolean;
}

/**
 * Writes the warehouse at a place, as `writeWarehouse` does, unless another process of the service writes it: rejects with `conflict`
 * then.
 */
export function keepWarehouse(
  config: Config,
  eventLog: EventLog,
  caller: Caller,
  { place, deidentified, ...options }: KeepWarehouseOptions,
): Promise<void> {
  // A URL may have a password.
  const name = createHash('sha256').update(`${place} ${caller.workspace} ${deidentified}`).digest('hex');
  return withLeases(config.stateUrl, [`warehouse ${name}`], async (hold) => {
    if (!(await hold())) throw new ServiceError('conflict', 'Another process is writing this warehouse.');
    if (deidentified) requireKeyFolder(config.deidentificationKey, config.dataDir);
    const pseudonyms = deidentified
      ? await new Keyring(eventLog, managedKeys(config)).loadEpoch('deidentification')
      : undefined;
    const schema = deidentified ? `${caller.workspace}_deidentified` : caller.workspace;
    const warehouse = await openWarehouse(place, schema);
    try {
      await writeWarehouse({ eventLog, warehouse }, caller, { pseudonyms, ...options });
    } finally {
      await warehouse.close();
    }
  });
}

import { KeyDirectory } from '../../../src/modules/auth/keyDirectory.ts';
import { KeyManager } from '../../../src/modules/auth/keyManager.ts';
import type { Permission } from '../../../src/modules/auth/permissions.ts';
import { openEventLog } from '../../../src/server/openStorage.ts';

import type { Stores } from './chartledger.ts';

/** Creates a key that may read in the workspace of stores on which no service is running. */
export async function readerKey(
  { config, key }: Stores,
  permissions: Permission[] = ['read'],
): Promise<string> {
  const eventLog = await openEventLog(config.eventLogUrl);
  const directory = await KeyDirectory.open(eventLog);
  const manager = new KeyManager(directory, { principal: { type: 'operator', id: 'bench' } });
  const made = await manager.createKey(key.workspace, 'Reader', permissions);
  directory.close();
  await eventLog.close();
  return made.key;
}

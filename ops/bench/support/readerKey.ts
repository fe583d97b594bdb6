import type { EventLog } from '../../../src/ports/eventLog.ts';
import { KeyDirectory } from '../../../src/principals/keys/KeyDirectory.ts';
import { KeyManager } from '../../../src/principals/keys/KeyManager.ts';
import type { Stores } from './chartledger.ts';

/** A key that may read in the workspace of these stores. */
export async function readerKey(eventLog: EventLog, { key }: Stores): Promise<string> {
  const directory = await KeyDirectory.open(eventLog);
  const manager = new KeyManager(directory, { principal: { type: 'operator', id: 'bench' } });
  const made = await manager.createKey(key.workspace, 'Reader', ['read']);
  directory.close();
  return made.key;
}

import type { KeyDirectory } from './KeyDirectory.ts';
import { type CreatedKey, KeyManager } from './KeyManager.ts';
import { permissions } from './permissions.ts';

/** The workspace of a first start. */
const FIRST_WORKSPACE = 'default';

/** On a log that holds no workspace yet: makes one, with one key that may do everything. Else does nothing. */
export async function createFirstKey(directory: KeyDirectory): Promise<CreatedKey | undefined> {
  if (directory.known.workspaces.size > 0) return undefined;
  const manager = new KeyManager(directory, { principal: { type: 'operator', id: 'first-start' } });
  return manager.createKey(FIRST_WORKSPACE, 'First key', [...permissions]);
}

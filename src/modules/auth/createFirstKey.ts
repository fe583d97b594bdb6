import type { KeyDirectory } from './KeyDirectory.ts';
import { type CreatedKey, KeyManager } from './KeyManager.ts';
import { permissions } from './permissions.ts';

/** The workspace created on first start. */
const FIRST_WORKSPACE = 'default';

/** If the log has no workspace yet, creates one, with one key that has every permission. Otherwise does nothing. */
export async function createFirstKey(directory: KeyDirectory): Promise<CreatedKey | undefined> {
  if (directory.known.workspaces.size > 0) return undefined;
  const manager = new KeyManager(directory, { principal: { type: 'operator', id: 'first-start' } });
  return manager.createKey(FIRST_WORKSPACE, 'First key', [...permissions]);
}

import type { AccessDirectory } from './AccessDirectory.ts';
import { permissions } from './access.ts';
import { AccessManager, type CreatedKey } from './manageAccess.ts';

/** The workspace of a first start. */
const FIRST_WORKSPACE = 'default';

/** On a log that holds no workspace yet: makes one, with one key that may do everything. Else does nothing. */
export async function createFirstKey(directory: AccessDirectory): Promise<CreatedKey | undefined> {
  if (directory.access.workspaces.size > 0) return undefined;
  const manager = new AccessManager(directory, { principal: { type: 'operator', id: 'first-start' } });
  return manager.createKey(FIRST_WORKSPACE, 'First key', [...permissions]);
}

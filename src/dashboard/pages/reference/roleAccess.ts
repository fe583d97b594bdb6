import type { FoundKey } from '../../../modules/auth/KeyDirectory.ts';
import type { Workspace } from '../../../modules/auth/keyState.ts';
import type { Permission } from '../../../modules/auth/permissions.ts';
import { permissionsOf, type Role, type User } from '../../../modules/auth/user.ts';

/** Whether users of a role may try what requires one of these permissions. */
export function mayTry(role: Role, needed: 'public' | 'key' | Permission | readonly Permission[]): boolean {
  if (needed === 'public' || needed === 'key') return true;
  return [needed].flat().some((permission) => permissionsOf[role].includes(permission));
}

/**
 * Returns what of a workspace is open to a user, in the form in which endpoints ask it of a key. There is no such
 * key: nobody can send it.
 */
export function accessOf({ id, name }: User, role: Role, workspace: Workspace): FoundKey {
  return {
    key: {
      ...{ id, name, workspace: workspace.id, permissions: [...permissionsOf[role]] },
      ...{ sha256: '', state: 'active', createdAt: workspace.createdAt, createdBy: { type: 'user', id } },
      sender: id,
    },
    workspace,
  };
}

import type { FoundKey } from '../../../principals/keys/KeyDirectory.ts';
import type { Workspace } from '../../../principals/keys/keyState.ts';
import type { Permission } from '../../../principals/keys/permissions.ts';
import type { Role, User } from '../../../principals/users/user.ts';

/** What users of a role may try, in the permissions of keys. */
const permissionsOf: Record<Role, Permission[]> = {
  admin: ['write', 'read', 'events', 'webhooks'],
  compliance: ['read', 'events'],
  viewer: ['events:deidentified'],
};

/** Whether users of a role may try what needs one of these permissions. */
export function mayTry(role: Role, needed: 'public' | 'key' | Permission | readonly Permission[]): boolean {
  if (needed === 'public' || needed === 'key') return true;
  return [needed].flat().some((permission) => permissionsOf[role].includes(permission));
}

/** What of a workspace is open to a user, as endpoints ask it of a key. There is no such key: nobody can send it. */
export function accessOf({ id, name, role }: User, workspace: Workspace): FoundKey {
  return {
    key: {
      ...{ id, name, workspace: workspace.id, permissions: permissionsOf[role] },
      ...{ sha256: '', state: 'active', createdAt: workspace.createdAt, createdBy: { type: 'user', id } },
    },
    workspace,
  };
}

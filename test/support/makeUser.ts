import { randomBytes, scryptSync } from 'node:crypto';
import { generateId } from '../../src/modules/auth/apiKeys.ts';
import { changeUsers } from '../../src/modules/auth/userManager.ts';
import { ALL_WORKSPACES, type Role, type Roles, type UserDirectory } from '../../src/modules/auth/users.ts';

/** A user with a role in all workspaces, or with some by workspace. */
interface NewUser {
  name: string;
  password: string;
  role?: Role;
  roles?: Roles;
}

/** Cheap: the product's own take half a second of a processor for each sign-in. */
const parameters = { N: 2 ** 4, r: 8, p: 1 };

/** Makes a user as `UserManager.create` does, with a password whose check costs next to nothing; the user's id. */
export async function makeUser(
  users: UserDirectory,
  { name, password, role = 'viewer', roles = { [ALL_WORKSPACES]: role } }: NewUser,
): Promise<string> {
  const salt = randomBytes(16);
  const hash = scryptSync(password.normalize('NFKC'), salt, 32, parameters);
  const stored = { ...parameters, salt: salt.toString('base64'), hash: hash.toString('base64') };
  const id = generateId('usr');
  const actor = { principal: { type: 'operator', id: 'test' } } as const;
  await changeUsers(users, actor, () => ({
    type: 'UserCreated',
    data: { user_id: id, name, roles, origin: 'password', password: { algorithm: 'scrypt', ...stored } },
  }));
  return id;
}

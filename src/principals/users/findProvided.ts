import { ServiceError } from '../../errors.ts';
import type { ProvidedUser } from './IdentityProvider.ts';
import { type Origin, refuseWithoutRole, type SignInPorts } from './signIn.ts';
import { UserManager } from './UserManager.ts';
import type { Role, User } from './user.ts';

/**
 * Returns the user authenticated by the identity provider: created the first time, with the role that the provider currently
 * gives. A user is identified only by issuer and subject, so that nobody can become another user by taking their name. Rejects
 * with `unauthorized` without a role, and with `unavailable`.
 */
export async function findProvided(
  ports: SignInPorts,
  provided: ProvidedUser,
  origin: Origin,
): Promise<User> {
  const { users } = ports;
  const { identity, role } = provided;
  await users.refresh();
  const known = users.findByIdentity(identity);
  if (role === undefined) return refuseWithoutRole(ports, known, origin);
  const manager = new UserManager(users, {
    ...origin,
    principal: { type: 'service', id: 'openid-connect' },
  });
  const user = known ?? (await create(manager, provided, role));
  if (user.state === 'active') await manager.followClaim(user.id, role);
  return users.find(user.id) as User;
}

/** If another user already has the name, the subject distinguishes them. */
async function create(manager: UserManager, { identity, name }: ProvidedUser, role: Role): Promise<User> {
  try {
    return await manager.createForIdentity(name, role, identity);
  } catch (error) {
    if (!(error instanceof ServiceError && error.code === 'conflict')) throw error;
    return manager.createForIdentity(`${name} (${identity.subject})`, role, identity);
  }
}

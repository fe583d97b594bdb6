import { ServiceError } from '../../platform/errors.ts';
import type { ProvidedUser } from './IdentityProvider.ts';
import { type Origin, refuseWithoutRole, type SignInPorts } from './signIn.ts';
import { UserManager } from './UserManager.ts';
import type { User } from './user.ts';

/**
 * Returns the user authenticated by the identity provider: created the first time, with the roles that the provider currently
 * gives. A user is identified only by issuer and subject, so that nobody can become another user by taking their name. Rejects
 * with `unauthorized` without a role, and with `unavailable`.
 */
export async function findProvided(
  ports: SignInPorts,
  provided: ProvidedUser,
  origin: Origin,
): Promise<User> {
  const { users } = ports;
  const { identity, roles } = provided;
  await users.refresh();
  const known = users.findByIdentity(identity);
  if (Object.keys(roles).length === 0) return refuseWithoutRole(ports, known, origin);
  const manager = new UserManager(users, {
    ...origin,
    principal: { type: 'service', id: 'openid-connect' },
  });
  const user = known ?? (await create(manager, provided));
  if (user.state === 'active') await manager.followClaim(user.id, roles);
  return users.find(user.id) as User;
}

/** If another user already has the name, the subject distinguishes them. */
async function create(manager: UserManager, { identity, name, roles }: ProvidedUser): Promise<User> {
  try {
    return await manager.createForIdentity(name, roles, identity);
  } catch (error) {
    if (!(error instanceof ServiceError && error.code === 'conflict')) throw error;
    return manager.createForIdentity(`${name} (${identity.subject})`, roles, identity);
  }
}

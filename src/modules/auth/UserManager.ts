import type { Actor } from '../../domain/events/newEvent.ts';
import { ServiceError } from '../../platform/errors.ts';
import { generateId } from './apiKey.ts';
import { changeUsers } from './changeUsers.ts';
import { hashPassword } from './password.ts';
import type { UserDirectory } from './UserDirectory.ts';
import {
  areSameRoles,
  type Identity,
  identityKey,
  isAdministrator,
  type Role,
  type Roles,
  type User,
  type Users,
  withRole,
} from './user.ts';
import {
  findUser,
  keepAnAdministrator,
  requireFreeName,
  requireGoodName,
  requireGoodPassword,
  requirePasswordUser,
} from './userChecks.ts';
import type { UserChange } from './userEvents.ts';

/** The data of a new user who signs in with a password. */
export interface NewUser {
  name: string;
  roles: Roles;
  password: string;
}

/**
 * Changes to users. Each is decided on the whole stream of users and appended only if no one changed it in the meantime;
 * otherwise it is decided again. Impossible changes reject with `not_found`, `conflict` or `validation_failed`, whose `details`
 * name the fields `name` and `password`.
 */
export class UserManager {
  readonly #directory: UserDirectory;
  readonly #actor: Actor;

  constructor(directory: UserDirectory, actor: Actor) {
    this.#directory = directory;
    this.#actor = actor;
  }

  /**
   * Creates a user with a password; `conflict` when the name is taken. `require` throws when the user must not be created for
   * another reason. The password is hashed only when everything else is valid.
   */
  async create(
    { name: typed, roles, password }: NewUser,
    require: (all: Readonly<Users>) => void = () => undefined,
  ): Promise<User> {
    const name = typed.trim();
    const check = (all: Readonly<Users>) => {
      require(all);
      requireGoodName(name);
      requireFreeName(all, name);
    };
    await this.#directory.change((all) => {
      check(all);
      return undefined;
    });
    await requireGoodPassword(password, name);
    const hash = await hashPassword(password);
    const id = generateId('usr');
    await this.#change((all) => {
      check(all);
      return { type: 'UserCreated', data: { user_id: id, name, roles, origin: 'password', password: hash } };
    });
    return this.#directory.find(id) as User;
  }

  /** Creates a user authenticated by an identity provider; `conflict` when the name or identity is taken. */
  async createForIdentity(name: string, roles: Roles, identity: Identity): Promise<User> {
    const id = generateId('usr');
    await this.#change((all) => {
      requireFreeName(all, name);
      if (all.idByIdentity.has(identityKey(identity))) {
        throw new ServiceError('conflict', 'A user with that identity already exists.');
      }
      return { type: 'UserCreated', data: { user_id: id, name, roles, origin: 'openid_connect', identity } };
    });
    return this.#directory.find(id) as User;
  }

  /** Sets a user's password; `conflict` for a user who signs in through an identity provider. */
  async setPassword(id: string, password: string): Promise<void> {
    await this.#directory.refresh();
    const user = findUser(this.#directory.find(id));
    requirePasswordUser(user);
    await requireGoodPassword(password, user.name);
    const hash = await hashPassword(password);
    await this.#change(() => ({ type: 'UserPasswordSet', data: { user_id: id, password: hash } }));
  }

  /**
   * Sets a user's role in these workspaces, or, undefined, takes it away there (`withRole`); does nothing when already set so. The
   * last active administrator of all workspaces stays one.
   */
  async setRole(id: string, role: Role | undefined, workspaces: readonly string[]): Promise<void> {
    await this.#change((all) => {
      const user = findUser(all.users.get(id));
      const roles = withRole(user.roles, role, workspaces);
      if (areSameRoles(user.roles, roles)) return undefined;
      if (!isAdministrator({ roles })) keepAnAdministrator(all, user);
      return { type: 'UserRoleSet', data: { user_id: id, roles } };
    });
  }

  /** Sets the roles given by the identity provider, even if the last administrator loses theirs. */
  async followClaim(id: string, roles: Roles): Promise<void> {
    await this.#change((all) => {
      const user = findUser(all.users.get(id));
      if (areSameRoles(user.roles, roles)) return undefined;
      return { type: 'UserRoleSet', data: { user_id: id, roles } };
    });
  }

  /** Disables or enables a user; does nothing when already in that state. The last active administrator stays active. */
  async setState(id: string, state: User['state']): Promise<void> {
    await this.#change((all) => {
      const user = findUser(all.users.get(id));
      if (user.state === state) return undefined;
      if (state === 'disabled') keepAnAdministrator(all, user);
      return { type: state === 'disabled' ? 'UserDisabled' : 'UserEnabled', data: { user_id: id } };
    });
  }

  /**
   * Sets the time zone (IANA) in which the dashboard shows times to a user in addition to UTC, or none if empty; does nothing
   * when already set so. `validation_failed` for one that this process does not know.
   */
  async setTimeZone(id: string, timeZone: string): Promise<void> {
    if (timeZone !== '' && !Intl.supportedValuesOf('timeZone').includes(timeZone)) {
      const message = 'Choose a time zone from the list.';
      throw new ServiceError('validation_failed', message, { details: [{ field: 'time_zone', message }] });
    }
    await this.#change((all) => {
      const user = findUser(all.users.get(id));
      if ((user.timeZone ?? '') === timeZone) return undefined;
      return { type: 'UserTimeZoneSet', data: { user_id: id, time_zone: timeZone || null } };
    });
  }

  /** Restarts the count of sign-in attempts by a user's name, which unlocks it. */
  async unlock(id: string): Promise<void> {
    await this.#change((all) => ({
      type: 'UserUnlocked',
      data: { user_id: findUser(all.users.get(id)).id },
    }));
  }

  #change(decide: (all: Readonly<Users>) => UserChange | undefined): Promise<void> {
    return changeUsers(this.#directory, this.#actor, decide);
  }
}

import { createHash, randomBytes } from 'node:crypto';
import { type Actor, newActorEvent } from '../../domain/events/newEvent.ts';
import { INSTALLATION } from '../../domain/events/streams.ts';
import { invalidField, ServiceError } from '../../platform/errors.ts';
import { generateId } from './apiKeys.ts';
import { hashPassword } from './passwords.ts';
import {
  ALL_WORKSPACES,
  areSameRoles,
  findUser,
  type Identity,
  identityKey,
  isAdministrator,
  type Role,
  type Roles,
  requireAdministrator,
  requireFreeName,
  requireGoodName,
  requireGoodPassword,
  requirePasswordUser,
  type User,
  type UserChange,
  type UserDirectory,
  type Users,
  withRole,
} from './users.ts';

/**
 * Appends the change that `decide` derives from all users, if no one changed them in the meantime; otherwise decides again.
 * Appends nothing when there is no change. Rejects with what `decide` throws, and with `unavailable`.
 */
export function changeUsers(
  directory: UserDirectory,
  actor: Actor,
  decide: (all: Readonly<Users>) => UserChange | undefined,
): Promise<void> {
  return directory.change((all) => {
    const change = decide(all);
    return change && newActorEvent(actor, INSTALLATION, change.type, { ...change.data });
  });
}

/** The data of a new user who signs in with a password. */
interface NewUser {
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
      if (!isAdministrator({ roles })) requireAdministrator(all, user);
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
      if (state === 'disabled') requireAdministrator(all, user);
      return { type: state === 'disabled' ? 'UserDisabled' : 'UserEnabled', data: { user_id: id } };
    });
  }

  /**
   * Sets the time zone (IANA) in which the dashboard shows times to a user in addition to UTC, or none if empty; does nothing
   * when already set so. `validation_failed` for one that this process does not know.
   */
  async setTimeZone(id: string, timeZone: string): Promise<void> {
    if (timeZone !== '' && !Intl.supportedValuesOf('timeZone').includes(timeZone)) {
      throw invalidField('time_zone', 'Choose a time zone from the list.');
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

const TOKEN_BYTES = 32;
const HOUR_MS = 3_600_000;
const SETUP_LINK_MS = 24 * HOUR_MS;
const INVITATION_MS = 48 * HOUR_MS;

/** A newly created link. Its token is stored nowhere. */
export interface IssuedLink {
  userId: string;
  token: string;
  /** ISO 8601. */
  expiresAt: string;
}

/** Returns the path of an invitation's page, relative to the service's address. */
export function invitationPath({ token }: IssuedLink): string {
  return `/dashboard/invitation?token=${token}`;
}

/** Links for people who have no password yet. Their tokens are stored nowhere. */
export class UserLinks {
  readonly #directory: UserDirectory;
  readonly #actor: Actor;

  constructor(directory: UserDirectory, actor: Actor) {
    this.#directory = directory;
    this.#actor = actor;
  }

  /** Returns the token of a new setup link, which creates the first administrator, once, within 24 hours. */
  async issueSetupLink(): Promise<string> {
    const { token, ...data } = newLink(SETUP_LINK_MS);
    await changeUsers(this.#directory, this.#actor, () => ({ type: 'SetupLinkIssued', data }));
    return token;
  }

  /** Resolves when a setup link can be used; `not_found` when it does not exist, was used or has expired. */
  async requireSetupLink(token: string): Promise<void> {
    await this.#directory.change((all) => {
      requireOpenSetupLink(all, token);
      return undefined;
    });
  }

  /** Creates the first administrator; `not_found` when the link does not exist, was used or has expired. */
  async redeemSetupLink(token: string, name: string, password: string): Promise<User> {
    return new UserManager(this.#directory, this.#actor).create(
      { name, roles: { [ALL_WORKSPACES]: 'admin' }, password },
      (all) => requireOpenSetupLink(all, token),
    );
  }

  /**
   * Creates a user without a password, and the link with which the user chooses one: once, within 48 hours. `conflict` when the
   * name is taken, `validation_failed` for an invalid name.
   */
  async invite({ name: typed, roles }: Pick<User, 'name' | 'roles'>): Promise<IssuedLink> {
    const name = typed.trim();
    requireGoodName(name);
    const { token, ...link } = newLink(INVITATION_MS);
    const data = { user_id: generateId('usr'), name, roles, ...link };
    await changeUsers(this.#directory, this.#actor, (all) => {
      requireFreeName(all, name);
      return { type: 'UserInvited', data };
    });
    return { userId: data.user_id, token, expiresAt: link.expires_at };
  }

  /**
   * Creates another such link for a user, replacing the previous one. The current password stays valid until another is chosen.
   * `conflict` for a disabled user, and for one who signs in through an identity provider.
   */
  async inviteAgain(id: string): Promise<IssuedLink> {
    const { token, ...link } = newLink(INVITATION_MS);
    await changeUsers(this.#directory, this.#actor, (all) => {
      const user = findUser(all.users.get(id));
      requirePasswordUser(user);
      if (user.state === 'disabled')
        throw new ServiceError('conflict', 'This user is disabled. Enable it first.');
      return { type: 'UserInvitationIssued', data: { user_id: id, ...link } };
    });
    return { userId: id, token, expiresAt: link.expires_at };
  }

  /** Returns the invited user; `not_found` when the invitation does not exist, was used or replaced, or has expired. */
  async findInvited(token: string): Promise<User> {
    let found: User | undefined;
    await this.#directory.change((all) => {
      found = invitedUser(all, token);
      return undefined;
    });
    return found as User;
  }

  /** Sets the invited user's password, and invalidates the link. Rejects as `findInvited` does. */
  async redeemInvitation(token: string, password: string): Promise<User> {
    const { id, name } = await this.findInvited(token);
    await requireGoodPassword(password, name);
    const hash = await hashPassword(password);
    await changeUsers(this.#directory, this.#actor, (all) => {
      invitedUser(all, token);
      return { type: 'UserPasswordSet', data: { user_id: id, password: hash } };
    });
    return this.#directory.find(id) as User;
  }
}

/** Returns the user with an open invitation; throws `not_found` when it does not exist, was used or replaced, or has expired. */
function invitedUser(all: Readonly<Users>, token: string): User {
  const invitation = all.invitations.get(hashToken(token));
  const user = invitation && all.users.get(invitation.userId);
  if (user?.state === 'active' && Date.now() < Date.parse(invitation?.expiresAt ?? '')) return user;
  throw new ServiceError(
    'not_found',
    'This link was already used, was replaced by a newer one, or has expired. Ask an administrator for a new one.',
  );
}

/** Returns a link's token, with what is stored of the link. */
function newLink(ms: number): { token: string; sha256: string; expires_at: string } {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  return { token, sha256: hashToken(token), expires_at: new Date(Date.now() + ms).toISOString() };
}

/** SHA-256 of a link's token, lower-case hex. */
function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

function requireOpenSetupLink(all: Readonly<Users>, token: string): void {
  const expiresAt = all.setupLinks.get(hashToken(token));
  if (expiresAt !== undefined && Date.now() < Date.parse(expiresAt)) return;
  throw new ServiceError(
    'not_found',
    'This link was already used, or has expired. An operator creates the first user with: chartledger users create',
  );
}

/**
 * While there are no users: returns the token of a new link that creates the first administrator. Otherwise does nothing; nor, without
 * `again`, once a link was issued.
 */
export async function issueFirstSetupLink(
  users: UserDirectory,
  { again }: { again: boolean },
): Promise<string | undefined> {
  if (users.all().length > 0 || (users.hasSetupLink && !again)) return undefined;
  const actor = { principal: { type: 'operator', id: 'first-start' } } as const;
  return new UserLinks(users, actor).issueSetupLink();
}

import { createHash, randomBytes } from 'node:crypto';
import type { Actor } from '../../domain/events/newEvent.ts';
import { ServiceError } from '../../platform/errors.ts';
import { generateId } from './apiKey.ts';
import { changeUsers } from './changeUsers.ts';
import { hashPassword } from './password.ts';
import type { UserDirectory } from './UserDirectory.ts';
import { UserManager } from './UserManager.ts';
import { ALL_WORKSPACES, type User, type Users } from './user.ts';
import {
  findUser,
  requireFreeName,
  requireGoodName,
  requireGoodPassword,
  requirePasswordUser,
} from './userChecks.ts';

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
    'This link was already used, or has expired. While there are no users, restart the service to get a new one.',
  );
}

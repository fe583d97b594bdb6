import { createHash, randomBytes } from 'node:crypto';
import { type Actor, newActorEvent } from '../commands/caller.ts';
import { ServiceError } from '../errors.ts';
import { generateId } from '../keys/apiKey.ts';
import type { JsonObject } from '../ports/eventLog.ts';
import { INSTALLATION } from '../records/streamNames.ts';
import { hashPassword, passwordProblem } from './password.ts';
import type { UserDirectory } from './UserDirectory.ts';
import {
  type Identity,
  identityKey,
  nameKey,
  type Role,
  type SetupLinkIssued,
  type User,
  type UserCreated,
  type UserPasswordSet,
  type UserRoleSet,
  type Users,
} from './user.ts';

interface Change {
  type: string;
  data: UserCreated | UserPasswordSet | UserRoleSet | SetupLinkIssued | { user_id: string };
}

/** What is needed of a new user who signs in with a password. */
export interface NewUser {
  name: string;
  role: Role;
  password: string;
}

const MAX_NAME_LENGTH = 100;
const TOKEN_BYTES = 32;
const SETUP_LINK_MS = 24 * 3_600_000;

/**
 * Changes to users. Each is decided on the whole stream of users and appended only if nobody changed it meanwhile;
 * otherwise it is decided again. Impossible changes reject with `not_found`, `conflict` or `validation_failed`, whose
 * `details` name the fields `name` and `password`.
 */
export class UserManager {
  readonly #directory: UserDirectory;
  readonly #actor: Actor;

  constructor(directory: UserDirectory, actor: Actor) {
    this.#directory = directory;
    this.#actor = actor;
  }

  /** Makes a user with a password; `conflict` when there is one of that name. */
  create(user: NewUser): Promise<User> {
    return this.#createWithPassword(user, () => undefined);
  }

  /** Makes a user whom an identity provider vouches for; `conflict` when there is one of that name or identity. */
  async createForIdentity(name: string, role: Role, identity: Identity): Promise<User> {
    const id = generateId('usr');
    await this.#change((all) => {
      requireFreeName(all, name);
      if (all.idByIdentity.has(identityKey(identity))) {
        throw new ServiceError('conflict', 'There is a user of that identity already.');
      }
      return { type: 'UserCreated', data: { user_id: id, name, role, origin: 'openid_connect', identity } };
    });
    return this.#directory.find(id) as User;
  }

  /** Gives a user another password; `conflict` for a user who signs in through an identity provider. */
  async setPassword(id: string, password: string): Promise<void> {
    await this.#directory.refresh();
    const { name, origin } = findUser(this.#directory.find(id));
    if (origin !== 'password') {
      throw new ServiceError(
        'conflict',
        'This user signs in through the identity provider, without a password.',
      );
    }
    requireGoodPassword(password, name);
    const hash = await hashPassword(password);
    await this.#change(() => ({ type: 'UserPasswordSet', data: { user_id: id, password: hash } }));
  }

  /** Gives a user another role; no change when it is so already. The last active administrator stays one. */
  async setRole(id: string, role: Role): Promise<void> {
    await this.#change((all) => {
      const user = findUser(all.users.get(id));
      if (user.role === role) return undefined;
      keepAnAdministrator(all, user);
      return { type: 'UserRoleSet', data: { user_id: id, role } };
    });
  }

  /** Gives a user the role that the identity provider says, be it the last administrator who loses it. */
  async followClaim(id: string, role: Role): Promise<void> {
    await this.#change((all) => {
      const user = findUser(all.users.get(id));
      return user.role === role ? undefined : { type: 'UserRoleSet', data: { user_id: id, role } };
    });
  }

  /** Disables or enables a user; no change when it is so already. The last active administrator stays active. */
  async setState(id: string, state: User['state']): Promise<void> {
    await this.#change((all) => {
      const user = findUser(all.users.get(id));
      if (user.state === state) return undefined;
      if (state === 'disabled') keepAnAdministrator(all, user);
      return { type: state === 'disabled' ? 'UserDisabled' : 'UserEnabled', data: { user_id: id } };
    });
  }

  /** The token of a new setup link: it makes the first administrator, once, within 24 hours. It is stored nowhere. */
  async issueSetupLink(): Promise<string> {
    const token = randomBytes(TOKEN_BYTES).toString('base64url');
    const expires_at = new Date(Date.now() + SETUP_LINK_MS).toISOString();
    await this.#change(() => ({ type: 'SetupLinkIssued', data: { sha256: hashToken(token), expires_at } }));
    return token;
  }

  /** Resolves when a setup link can be used; `not_found` when it is none, was used or is too old. */
  async requireSetupLink(token: string): Promise<void> {
    await this.#directory.change((all) => {
      requireOpenLink(all, hashToken(token));
      return undefined;
    });
  }

  /** Makes the first administrator; `not_found` when the link is none, was used or is too old. */
  async redeemSetupLink(token: string, name: string, password: string): Promise<User> {
    const sha256 = hashToken(token);
    return this.#createWithPassword({ name, role: 'admin', password }, (all) => requireOpenLink(all, sha256));
  }

  /** `require` throws where the user may not be made. The work of hashing is done only for what is good so far. */
  async #createWithPassword(
    { name: typed, role, password }: NewUser,
    require: (all: Readonly<Users>) => void,
  ): Promise<User> {
    const name = typed.trim();
    const check = (all: Readonly<Users>) => {
      require(all);
      requireGoodName(name);
      requireFreeName(all, name);
      requireGoodPassword(password, name);
    };
    await this.#directory.change((all) => {
      check(all);
      return undefined;
    });
    const hash = await hashPassword(password);
    const id = generateId('usr');
    await this.#change((all) => {
      check(all);
      return { type: 'UserCreated', data: { user_id: id, name, role, origin: 'password', password: hash } };
    });
    return this.#directory.find(id) as User;
  }

  #change(decide: (all: Readonly<Users>) => Change | undefined): Promise<void> {
    return this.#directory.change((all) => {
      const change = decide(all);
      return (
        change && newActorEvent(this.#actor, INSTALLATION, change.type, change.data as unknown as JsonObject)
      );
    });
  }
}

/** SHA-256 of a setup link's token, lower-case hex. */
function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

function findUser(user: User | undefined): User {
  if (!user) throw new ServiceError('not_found', 'There is no such user.');
  return user;
}

/** A complaint about one field, which a form shows beside it. */
function invalid(field: string, message: string): ServiceError {
  return new ServiceError('validation_failed', message, { details: [{ field, message }] });
}

function requireGoodName(name: string): void {
  if (name.length === 0 || name.length > MAX_NAME_LENGTH || /\p{Cc}/u.test(name)) {
    throw invalid('name', `The name of a user has 1 to ${MAX_NAME_LENGTH} characters.`);
  }
}

function requireFreeName(all: Readonly<Users>, name: string): void {
  if (!all.idByName.has(nameKey(name))) return;
  const message = 'There is a user of that name already.';
  throw new ServiceError('conflict', message, { details: [{ field: 'name', message }] });
}

function requireGoodPassword(password: string, name: string): void {
  const problem = passwordProblem(password, name);
  if (problem !== undefined) throw invalid('password', problem);
}

function requireOpenLink(all: Readonly<Users>, sha256: string): void {
  const expiresAt = all.setupLinks.get(sha256);
  if (expiresAt !== undefined && Date.now() < Date.parse(expiresAt)) return;
  throw new ServiceError(
    'not_found',
    'This link was used already, or is too old. Start the service again for a new one while there is no user.',
  );
}

/** Nobody could make another administrator if the last one went. */
function keepAnAdministrator(all: Readonly<Users>, leaving: User): void {
  const isActiveAdmin = ({ role, state }: User) => role === 'admin' && state === 'active';
  if (!isActiveAdmin(leaving)) return;
  const others = [...all.users.values()].filter((user) => user.id !== leaving.id && isActiveAdmin(user));
  if (others.length === 0) {
    throw new ServiceError('conflict', 'This is the last active administrator. Make another one first.');
  }
}

import { dataAs, type NewEvent, type RecordedEvent } from '../../domain/events/event.ts';
import { USERS_STREAM } from '../../domain/events/streams.ts';
import { upcast } from '../../domain/events/upcasting.ts';
import { invalidField, ServiceError } from '../../platform/errors.ts';
import { roleGrant, userRoles } from '../../platform/settings.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { FollowedStream } from './keyDirectory.ts';
import { type PasswordHash, passwordProblem } from './passwords.ts';
import { kindPermissions, type Permission, permissions } from './permissions.ts';

/** What a user may see and do in a workspace, strongest first. */
export const roles = userRoles;
export type Role = (typeof roles)[number];

/** What users of a role may do with the API's operations, in terms of key permissions. */
export const permissionsOf: Record<Role, readonly Permission[]> = {
  admin: ['write', 'read', 'events', 'webhooks', 'audit', 'settings'],
  compliance: ['read', 'events', 'audit'],
  billing: kindPermissions.filter((permission) => permission.startsWith('read:')),
  integrator: ['webhooks'],
  auditor: ['audit'],
  viewer: ['events:deidentified'],
};

/** Returns the permissions that users of a role may give to API keys: for integrators, those that read no patient data. */
export function grantablePermissions(role: Role | undefined): readonly Permission[] {
  if (role === 'admin') return [...permissions, ...kindPermissions];
  if (role !== 'integrator') return [];
  return [
    ...(['write', 'events:deidentified', 'webhooks'] as const),
    ...kindPermissions.filter((permission) => permission.startsWith('write:')),
  ];
}

/** In the place of a workspace's id: all workspaces, including those created later. */
export const ALL_WORKSPACES = '*';

/**
 * A user's roles by workspace. The one in `ALL_WORKSPACES` applies in each workspace that has none of its own, and on
 * the pages of the installation.
 */
export type Roles = Readonly<Record<string, Role>>;

/** A user of the dashboard. */
export interface User {
  id: string;
  /** What is typed at sign-in, usually an e-mail address; unique, case-insensitive. */
  name: string;
  roles: Roles;
  state: 'active' | 'disabled';
  /** How the user is authenticated: by this service's password, or an identity provider. */
  origin: 'password' | 'openid_connect';
  createdAt: string;
  /** Undefined: no password. */
  passwordSetAt: string | undefined;
  /** When the user was last disabled; undefined: never. */
  disabledAt?: string | undefined;
  /** When an authenticator app was set up; undefined: none. */
  totpSetAt?: string | undefined;
  /** When the count of sign-in attempts by name was restarted; undefined: never. */
  unlockedAt?: string | undefined;
  /** In which the dashboard shows times in addition to UTC, IANA; undefined: none. */
  timeZone?: string | undefined;
}

/** A user at an identity provider: `subject` is unique there and never changes (OpenID Connect Core, section 2). */
export interface Identity {
  issuer: string;
  subject: string;
}

/** What is stored of an authenticator app. */
interface StoredSecondFactor {
  /** Base32, sealed for the user (`encryption.ts`). */
  sealedSecret: string;
  /** Unused ones: SHA-256, lower-case hex. */
  recoveryCodes: string[];
}

/** A link with which a user chooses a password. */
interface Invitation {
  userId: string;
  /** ISO 8601. */
  expiresAt: string;
}

/** All users, folded from their stream. Secrets are kept separate, so that a `User` can be shown anywhere. */
export interface Users {
  users: Map<string, User>;
  idByName: Map<string, string>;
  idByIdentity: Map<string, string>;
  passwords: Map<string, PasswordHash>;
  secondFactors: Map<string, StoredSecondFactor>;
  /** Invitations by the SHA-256 of the token, lower-case hex. */
  invitations: Map<string, Invitation>;
  /** When links expire, ISO 8601, by the SHA-256 of the token, lower-case hex. */
  setupLinks: Map<string, string>;
  /** Revision of the last event folded; -1 before the first. */
  revision: number;
}

export function emptyUsers(): Users {
  return {
    users: new Map(),
    idByName: new Map(),
    idByIdentity: new Map(),
    passwords: new Map(),
    secondFactors: new Map(),
    invitations: new Map(),
    setupLinks: new Map(),
    revision: -1,
  };
}

/** Returns the form of a name used for lookups. */
export function nameKey(name: string): string {
  return name.trim().normalize('NFKC').toLowerCase();
}

/** Returns the form of an identity used for lookups. */
export function identityKey({ issuer, subject }: Identity): string {
  return JSON.stringify([issuer, subject]);
}

/** Returns a user's state for display: one who has not chosen a password yet is invited. */
export function stateOf(user: User): User['state'] | 'invited' {
  return user.state === 'active' && !canSignIn(user) ? 'invited' : user.state;
}

/** Whether the user has a way to sign in. */
function canSignIn({ state, origin, passwordSetAt }: User): boolean {
  return state === 'active' && (origin === 'openid_connect' || passwordSetAt !== undefined);
}

/** Returns the user's role in a workspace, by default in all workspaces; undefined: none. */
export function roleIn({ roles }: Pick<User, 'roles'>, workspace = ALL_WORKSPACES): Role | undefined {
  return Object.hasOwn(roles, workspace) ? roles[workspace] : roles[ALL_WORKSPACES];
}

/** Whether the user administers the installation: its users, its workspaces, and everything in each. */
export function isAdministrator(user: Pick<User, 'roles'>): boolean {
  return roleIn(user) === 'admin';
}

/** Whether one of the user's roles, in whatever workspace, is among these. */
export function hasAnyRole({ roles }: Pick<User, 'roles'>, wanted: readonly Role[]): boolean {
  return Object.values(roles).some((role) => wanted.includes(role));
}

/**
 * Returns the roles after one was set in these workspaces, or, undefined, taken away there. In `ALL_WORKSPACES` it replaces those in
 * single workspaces.
 */
export function withRole(before: Roles, role: Role | undefined, workspaces: readonly string[]): Roles {
  const kept = workspaces.includes(ALL_WORKSPACES) ? {} : before;
  const others = Object.entries(kept).filter(([workspace]) => !workspaces.includes(workspace));
  const set = workspaces.includes(ALL_WORKSPACES) ? [ALL_WORKSPACES] : workspaces;
  return Object.fromEntries([
    ...others,
    ...(role === undefined ? [] : set.map((one) => [one, role] as const)),
  ]);
}

/** Whether both are the same roles in the same workspaces. */
export function areSameRoles(one: Roles, other: Roles): boolean {
  const sorted = (roles: Roles) => JSON.stringify(Object.entries(roles).toSorted());
  return sorted(one) === sorted(other);
}

/** Returns the roles that grants name (`ROLE`, `ROLE@WORKSPACE`), the strongest for each workspace; other texts are ignored. */
export function rolesOfGrants(grants: readonly unknown[]): Roles {
  const named = grants.flatMap((grant) => {
    const { success, data } = roleGrant.safeParse(grant);
    return success ? [data.split('@') as [Role, string?]] : [];
  });
  const strongestLast = named.toSorted(([a], [b]) => roles.indexOf(b) - roles.indexOf(a));
  return Object.fromEntries(strongestLast.map(([role, workspace = ALL_WORKSPACES]) => [workspace, role]));
}

/** Data of `UserCreated`: with a password, or an identity at an identity provider. */
type UserCreated = { user_id: string; name: string; roles: Roles } & (
  | { origin: 'password'; password: PasswordHash }
  | { origin: 'openid_connect'; identity: Identity }
);

/** Data of `UserPasswordSet`. */
interface UserPasswordSet {
  user_id: string;
  password: PasswordHash;
}

/** Data of `UserRoleSet`: all roles of the user from then on. */
interface UserRoleSet {
  user_id: string;
  roles: Roles;
}

/** Data of `UserTimeZoneSet`. */
interface UserTimeZoneSet {
  user_id: string;
  /** IANA; null: UTC only. */
  time_zone: string | null;
}

/** Data of `UserInvitationIssued`: a link with which a user chooses a password. */
interface UserInvitationIssued extends SetupLinkIssued {
  user_id: string;
}

/** Data of `UserInvited`: a user who has no password yet, with the link to choose one. */
interface UserInvited extends UserInvitationIssued {
  name: string;
  roles: Roles;
}

/** Data of `UserTotpSet`. */
interface UserTotpSet {
  user_id: string;
  sealed_secret: string;
  /** SHA-256, lower-case hex. */
  recovery_codes: string[];
}

/** Data of `UserRecoveryCodeUsed`. */
interface UserRecoveryCodeUsed {
  user_id: string;
  sha256: string;
}

/** Data of `SetupLinkIssued`. */
interface SetupLinkIssued {
  /** Of the link's token, lower-case hex. */
  sha256: string;
  expires_at: string;
}

/** A change of users: the type and data of its event. */
export type UserChange =
  | { type: 'UserCreated'; data: UserCreated }
  | { type: 'UserPasswordSet'; data: UserPasswordSet }
  | { type: 'UserRoleSet'; data: UserRoleSet }
  | { type: 'UserTimeZoneSet'; data: UserTimeZoneSet }
  | { type: 'UserInvited'; data: UserInvited }
  | { type: 'UserInvitationIssued'; data: UserInvitationIssued }
  | { type: 'UserTotpSet'; data: UserTotpSet }
  | { type: 'UserRecoveryCodeUsed'; data: UserRecoveryCodeUsed }
  | { type: 'UserDisabled' | 'UserEnabled' | 'UserUnlocked' | 'UserTotpReset'; data: { user_id: string } }
  | { type: 'SetupLinkIssued'; data: SetupLinkIssued };

/** Links that create the first administrator become invalid once there is one. */
function endSetupLinks(all: Users, roles: Roles): void {
  if (isAdministrator({ roles })) all.setupLinks.clear();
}

function addInvitation(all: Users, event: RecordedEvent): void {
  const { user_id: userId, sha256, expires_at: expiresAt } = dataAs<UserInvitationIssued>(event.data);
  all.invitations.set(sha256, { userId, expiresAt });
}

/** Only a user's last link is valid, and none once a password was chosen. */
function endInvitations(all: Users, userId: string): void {
  for (const [sha256, invitation] of all.invitations) {
    if (invitation.userId === userId) all.invitations.delete(sha256);
  }
}

function setUser(all: Users, event: RecordedEvent, change: Partial<User>): void {
  const user = all.users.get(event.data.user_id as string);
  if (user) all.users.set(user.id, { ...user, ...change });
}

const folds: Record<string, (all: Users, event: RecordedEvent) => void> = {
  UserCreated(all, event) {
    const data = dataAs<UserCreated>(event.data);
    const { user_id: id, name, roles, origin } = data;
    const createdAt = event.recordedAt;
    const passwordSetAt = origin === 'password' ? createdAt : undefined;
    all.users.set(id, { id, name, roles, state: 'active', origin, createdAt, passwordSetAt });
    all.idByName.set(nameKey(name), id);
    if (data.origin === 'password') all.passwords.set(id, data.password);
    else all.idByIdentity.set(identityKey(data.identity), id);
    endSetupLinks(all, roles);
  },
  UserInvited(all, event) {
    const { user_id: id, name, roles } = dataAs<UserInvited>(event.data);
    const createdAt = event.recordedAt;
    const passwordSetAt = undefined;
    all.users.set(id, { id, name, roles, state: 'active', origin: 'password', createdAt, passwordSetAt });
    all.idByName.set(nameKey(name), id);
    addInvitation(all, event);
    endSetupLinks(all, roles);
  },
  UserInvitationIssued(all, event) {
    endInvitations(all, event.data.user_id as string);
    addInvitation(all, event);
  },
  UserTotpSet(all, event) {
    const { user_id: id, sealed_secret, recovery_codes } = dataAs<UserTotpSet>(event.data);
    all.secondFactors.set(id, { sealedSecret: sealed_secret, recoveryCodes: recovery_codes });
    setUser(all, event, { totpSetAt: event.recordedAt });
  },
  UserTotpReset(all, event) {
    all.secondFactors.delete(event.data.user_id as string);
    setUser(all, event, { totpSetAt: undefined });
  },
  UserRecoveryCodeUsed(all, event) {
    const { user_id: id, sha256 } = dataAs<UserRecoveryCodeUsed>(event.data);
    const factor = all.secondFactors.get(id);
    const recoveryCodes = factor?.recoveryCodes.filter((one) => one !== sha256) ?? [];
    if (factor) all.secondFactors.set(id, { ...factor, recoveryCodes });
  },
  UserPasswordSet(all, event) {
    const { user_id: id, password } = dataAs<UserPasswordSet>(event.data);
    all.passwords.set(id, password);
    endInvitations(all, id);
    setUser(all, event, { passwordSetAt: event.recordedAt });
  },
  UserRoleSet(all, event) {
    const { roles } = dataAs<UserRoleSet>(event.data);
    setUser(all, event, { roles });
    endSetupLinks(all, roles);
  },
  UserTimeZoneSet(all, event) {
    const { time_zone } = dataAs<UserTimeZoneSet>(event.data);
    setUser(all, event, { timeZone: time_zone ?? undefined });
  },
  UserUnlocked: (all, event) => setUser(all, event, { unlockedAt: event.recordedAt }),
  UserDisabled: (all, event) => setUser(all, event, { state: 'disabled', disabledAt: event.recordedAt }),
  UserEnabled: (all, event) => setUser(all, event, { state: 'active' }),
  SetupLinkIssued(all, event) {
    const { sha256, expires_at } = dataAs<SetupLinkIssued>(event.data);
    all.setupLinks.set(sha256, expires_at);
  },
};

/**
 * Folds the next event of the users' stream into `all`, in place. Throws, and changes nothing, when the event has an unknown
 * schema version: this process can then no longer tell who may do what.
 */
export function evolveUsers(all: Users, event: RecordedEvent): void {
  const fold = folds[event.type];
  if (fold) fold(all, upcast(event));
  all.revision = event.revision;
}

/**
 * All users, kept in memory by following their stream: a change made anywhere is visible here within a quarter of a second. While
 * the event log is unreachable, the last known state applies.
 */
export class UserDirectory {
  readonly #stream: FollowedStream<Users>;

  private constructor(stream: FollowedStream<Users>) {
    this.#stream = stream;
  }

  /** Reads the stream of users and starts following it. Rejects when the event log is unreachable. */
  static async open(eventLog: EventLog): Promise<UserDirectory> {
    return new UserDirectory(await FollowedStream.open(eventLog, USERS_STREAM, emptyUsers(), evolveUsers));
  }

  /** Returns every user, including disabled ones, in order of creation. */
  all(): User[] {
    return [...this.#stream.state.users.values()];
  }

  /** Whether a link to create the first administrator was issued, and there is none yet. */
  get hasSetupLink(): boolean {
    return this.#stream.state.setupLinks.size > 0;
  }

  /** Returns the user with an id, as of now; including disabled ones. */
  find(id: string): User | undefined {
    return this.#stream.state.users.get(id);
  }

  /** Returns the name of a user, by id; including disabled ones. */
  nameOf(id: string): string | undefined {
    return this.find(id)?.name;
  }

  /** Returns the user with a name, as of now. */
  findByName(name: string): User | undefined {
    const id = this.#stream.state.idByName.get(nameKey(name));
    return id === undefined ? undefined : this.find(id);
  }

  /** Returns the user with an identity at an identity provider, as of now. */
  findByIdentity(identity: Identity): User | undefined {
    const id = this.#stream.state.idByIdentity.get(identityKey(identity));
    return id === undefined ? undefined : this.find(id);
  }

  /** Returns what is stored of a user's password; undefined when there is none. */
  passwordOf(id: string): PasswordHash | undefined {
    return this.#stream.state.passwords.get(id);
  }

  /** Returns what is stored of a user's authenticator app; undefined when there is none. */
  secondFactorOf(id: string): StoredSecondFactor | undefined {
    return this.#stream.state.secondFactors.get(id);
  }

  /** Reads events that were added to the stream. */
  refresh(): Promise<void> {
    return this.#stream.refresh();
  }

  /** Changes users by the event that `decide` derives from all of them (`FollowedStream`). */
  change(decide: (all: Readonly<Users>) => NewEvent | undefined): Promise<void> {
    return this.#stream.change(decide);
  }

  close(): void {
    this.#stream.close();
  }
}

const MAX_NAME_LENGTH = 100;

/** Returns the user; throws `not_found` if undefined. */
export function findUser(user: User | undefined): User {
  if (!user) throw new ServiceError('not_found', 'The user does not exist.');
  return user;
}

/** Throws `validation_failed` for a name that no user may have. */
export function requireGoodName(name: string): void {
  if (name.length === 0 || name.length > MAX_NAME_LENGTH || /\p{Cc}/u.test(name)) {
    throw invalidField('name', `The name of a user must have 1 to ${MAX_NAME_LENGTH} characters.`);
  }
}

/** Throws `conflict` for a name that is taken. */
export function requireFreeName(all: Readonly<Users>, name: string): void {
  if (!all.idByName.has(nameKey(name))) return;
  const message = 'A user with that name already exists.';
  throw new ServiceError('conflict', message, { details: [{ field: 'name', message }] });
}

/** Rejects with `validation_failed` for a password that is too easy to guess. */
export async function requireGoodPassword(password: string, name: string): Promise<void> {
  const problem = await passwordProblem(password, name);
  if (problem !== undefined) throw invalidField('password', problem);
}

/** Throws `conflict` for a user who signs in through an identity provider. */
export function requirePasswordUser({ origin }: User): void {
  if (origin === 'password') return;
  throw new ServiceError('conflict', 'This user signs in through the identity provider, without a password.');
}

/** Throws `conflict` if nobody could create another administrator once this user left. */
export function requireAdministrator(all: Readonly<Users>, leaving: User): void {
  const isActiveAdmin = (user: User) => isAdministrator(user) && canSignIn(user);
  if (!isActiveAdmin(leaving)) return;
  const others = [...all.users.values()].filter((user) => user.id !== leaving.id && isActiveAdmin(user));
  if (others.length === 0) {
    throw new ServiceError(
      'conflict',
      'This is the last active administrator of all workspaces. Create another one first.',
    );
  }
}

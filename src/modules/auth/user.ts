import { roleGrant, userRoles } from '../../platform/settingTypes.ts';
import type { PasswordHash } from './password.ts';
import { kindPermissions, type Permission, permissions } from './permissions.ts';

/** What a user may see and do in a workspace, strongest first. */
export const roles = userRoles;
export type Role = (typeof roles)[number];

/** What users of a role may do with the API's operations, in terms of key permissions. */
export const permissionsOf: Record<Role, readonly Permission[]> = {
  admin: ['write', 'read', 'events', 'webhooks'],
  compliance: ['read', 'events'],
  billing: kindPermissions.filter((permission) => permission.startsWith('read:')),
  integrator: ['webhooks'],
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
export interface StoredSecondFactor {
  /** Base32, sealed for the user (`sealing.ts`). */
  sealedSecret: string;
  /** Unused ones: SHA-256, lower-case hex. */
  recoveryCodes: string[];
}

/** A link with which a user chooses a password. */
export interface Invitation {
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
export function canSignIn({ state, origin, passwordSetAt }: User): boolean {
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

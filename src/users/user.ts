import { z } from 'zod';
import type { RecordedEvent } from '../ports/eventLog.ts';
import { upcast } from '../records/upcast.ts';
import type { PasswordHash } from './password.ts';

/** What a user may see and do, strongest first. */
export const roles = ['admin', 'compliance', 'viewer'] as const;
export const roleSchema = z.enum(roles);
export type Role = (typeof roles)[number];

/** A user of the dashboard: of the whole installation, not of one workspace. */
export interface User {
  id: string;
  /** What is typed at sign-in, usually an e-mail address; unique, compared without regard to case. */
  name: string;
  role: Role;
  state: 'active' | 'disabled';
  /** Who vouches for the user: this service's password, or an identity provider. */
  origin: 'password' | 'openid_connect';
  createdAt: string;
  /** Undefined: there is no password. */
  passwordSetAt: string | undefined;
}

/** A user at an identity provider: `subject` is unique there and never changes (OpenID Connect Core, section 2). */
export interface Identity {
  issuer: string;
  subject: string;
}

/** All users, as folded from their stream. Passwords are apart, so that a `User` can be shown anywhere. */
export interface Users {
  users: Map<string, User>;
  idByName: Map<string, string>;
  idByIdentity: Map<string, string>;
  passwords: Map<string, PasswordHash>;
  /** SHA-256 of the token, lower-case hex, to the end of the link's life, ISO 8601. */
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
    setupLinks: new Map(),
    revision: -1,
  };
}

/** The form of a name by which users are found. */
export function nameKey(name: string): string {
  return name.trim().normalize('NFKC').toLowerCase();
}

/** The form of an identity by which users are found. */
export function identityKey({ issuer, subject }: Identity): string {
  return JSON.stringify([issuer, subject]);
}

/** Data of `UserCreated`: with a password, or an identity at an identity provider. */
export type UserCreated = { user_id: string; name: string; role: Role } & (
  | { origin: 'password'; password: PasswordHash }
  | { origin: 'openid_connect'; identity: Identity }
);

/** Data of `UserPasswordSet`. */
export interface UserPasswordSet {
  user_id: string;
  password: PasswordHash;
}

/** Data of `UserRoleSet`. */
export interface UserRoleSet {
  user_id: string;
  role: Role;
}

/** Data of `SetupLinkIssued`. */
export interface SetupLinkIssued {
  /** Of the link's token, lower-case hex. */
  sha256: string;
  expires_at: string;
}

/** Every link that makes a first administrator ends once there is one. */
function endSetupLinks(all: Users, role: Role): void {
  if (role === 'admin') all.setupLinks.clear();
}

function setUser(all: Users, event: RecordedEvent, change: Partial<User>): void {
  const user = all.users.get(event.data.user_id as string);
  if (user) all.users.set(user.id, { ...user, ...change });
}

const folds: Record<string, (all: Users, event: RecordedEvent) => void> = {
  UserCreated(all, event) {
    const data = event.data as unknown as UserCreated;
    const { user_id: id, name, role, origin } = data;
    const createdAt = event.recordedAt;
    const passwordSetAt = origin === 'password' ? createdAt : undefined;
    all.users.set(id, { id, name, role, state: 'active', origin, createdAt, passwordSetAt });
    all.idByName.set(nameKey(name), id);
    if (data.origin === 'password') all.passwords.set(id, data.password);
    else all.idByIdentity.set(identityKey(data.identity), id);
    endSetupLinks(all, role);
  },
  UserPasswordSet(all, event) {
    const { user_id: id, password } = event.data as unknown as UserPasswordSet;
    all.passwords.set(id, password);
    setUser(all, event, { passwordSetAt: event.recordedAt });
  },
  UserRoleSet(all, event) {
    const { role } = event.data as unknown as UserRoleSet;
    setUser(all, event, { role });
    endSetupLinks(all, role);
  },
  UserDisabled: (all, event) => setUser(all, event, { state: 'disabled' }),
  UserEnabled: (all, event) => setUser(all, event, { state: 'active' }),
  SetupLinkIssued(all, event) {
    const { sha256, expires_at } = event.data as unknown as SetupLinkIssued;
    all.setupLinks.set(sha256, expires_at);
  },
};

/**
 * Folds the next event of the users' stream into `all`, in place. Throws, and changes nothing, when the event is of a
 * schema version that is not known: who may do what is then not for this process to tell.
 */
export function evolveUsers(all: Users, event: RecordedEvent): void {
  const fold = folds[event.type];
  if (fold) fold(all, upcast(event));
  all.revision = event.revision;
}

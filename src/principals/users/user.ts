import { z } from 'zod';
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
  /** When an authenticator app was set up; undefined: there is none. */
  totpSetAt?: string | undefined;
  /** When attempts to sign in by the name began to be counted anew; undefined: never. */
  unlockedAt?: string | undefined;
  /** In which the dashboard shows moments beside UTC, IANA; undefined: in none. */
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
  /** Those not used yet: SHA-256, lower-case hex. */
  recoveryCodes: string[];
}

/** A link with which a user chooses a password. */
export interface Invitation {
  userId: string;
  /** ISO 8601. */
  expiresAt: string;
}

/** All users, as folded from their stream. Secrets are apart, so that a `User` can be shown anywhere. */
export interface Users {
  users: Map<string, User>;
  idByName: Map<string, string>;
  idByIdentity: Map<string, string>;
  passwords: Map<string, PasswordHash>;
  secondFactors: Map<string, StoredSecondFactor>;
  /** SHA-256 of the token, lower-case hex, to the invitation. */
  invitations: Map<string, Invitation>;
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
    secondFactors: new Map(),
    invitations: new Map(),
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

/** What people see of a user's state: one who is to choose a first password yet is invited. */
export function stateOf(user: User): User['state'] | 'invited' {
  return user.state === 'active' && !canSignIn(user) ? 'invited' : user.state;
}

/** Whether there is a way for the user to sign in. */
export function canSignIn({ state, origin, passwordSetAt }: User): boolean {
  return state === 'active' && (origin === 'openid_connect' || passwordSetAt !== undefined);
}

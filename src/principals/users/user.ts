import { z } from 'zod';
import type { PasswordHash } from './password.ts';

/** What a user may see and do, strongest first. */
export const roles = ['admin', 'compliance', 'viewer'] as const;
export const roleSchema = z.enum(roles);
export type Role = (typeof roles)[number];

/** A user of the dashboard: of the whole installation, not of one workspace. */
export interface User {
  id: string;
  /** What is typed at sign-in, usually an e-mail address; unique, case-insensitive. */
  name: string;
  role: Role;
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

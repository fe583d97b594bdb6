import { dataAs, type RecordedEvent } from '../../domain/events/event.ts';
import { upcast } from '../../domain/events/upcast.ts';
import type { PasswordHash } from './password.ts';
import {
  type Identity,
  identityKey,
  isAdministrator,
  nameKey,
  type Roles,
  type User,
  type Users,
} from './user.ts';

/** Data of `UserCreated`: with a password, or an identity at an identity provider. */
export type UserCreated = { user_id: string; name: string; roles: Roles } & (
  | { origin: 'password'; password: PasswordHash }
  | { origin: 'openid_connect'; identity: Identity }
);

/** Data of `UserPasswordSet`. */
export interface UserPasswordSet {
  user_id: string;
  password: PasswordHash;
}

/** Data of `UserRoleSet`: all roles of the user from then on. */
export interface UserRoleSet {
  user_id: string;
  roles: Roles;
}

/** Data of `UserTimeZoneSet`. */
export interface UserTimeZoneSet {
  user_id: string;
  /** IANA; null: UTC only. */
  time_zone: string | null;
}

/** Data of `UserInvitationIssued`: a link with which a user chooses a password. */
export interface UserInvitationIssued extends SetupLinkIssued {
  user_id: string;
}

/** Data of `UserInvited`: a user who has no password yet, with the link to choose one. */
export interface UserInvited extends UserInvitationIssued {
  name: string;
  roles: Roles;
}

/** Data of `UserTotpSet`. */
export interface UserTotpSet {
  user_id: string;
  sealed_secret: string;
  /** SHA-256, lower-case hex. */
  recovery_codes: string[];
}

/** Data of `UserRecoveryCodeUsed`. */
export interface UserRecoveryCodeUsed {
  user_id: string;
  sha256: string;
}

/** Data of `SetupLinkIssued`. */
export interface SetupLinkIssued {
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

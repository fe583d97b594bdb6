import { createHash, randomInt } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import type { JsonObject } from '../../domain/events/event.ts';
import { type Actor, newActorEvent } from '../../domain/events/newEvent.ts';
import { INSTALLATION, totpStream } from '../../domain/events/streams.ts';
import { upcast } from '../../domain/events/upcasting.ts';
import { decrypt, encrypt } from '../../platform/encryption.ts';
import { invalidField } from '../../platform/errors.ts';
import { appendBehind, type EventLog } from '../../storage/eventLog.ts';
import { changeUsers } from './userManager.ts';
import { findUser, requirePasswordUser, type User, type UserDirectory } from './users.ts';

const HOW_MANY = 10;
/** Without lookalikes; 79 bits per code, so that a plain hash of it cannot be brute-forced. */
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789';
const GROUPS = 4;
const GROUP_LENGTH = 4;

/** Generates codes that sign in, once each, a user who has lost the authenticator app: `k3fa-9xzb-…`. */
export function newRecoveryCodes(): string[] {
  const group = () =>
    Array.from({ length: GROUP_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
  return Array.from({ length: HOW_MANY }, () => Array.from({ length: GROUPS }, group).join('-'));
}

/** Returns what is stored of a recovery code: SHA-256, lower-case hex, however it was typed. */
export function hashRecoveryCode(code: string): string {
  const plain = code.toLowerCase().replace(/[^a-z0-9]/g, '');
  return createHash('sha256').update(plain).digest('hex');
}

const ISSUER = 'Chartledger';
const SECRET_BYTES = 20;
const PERIOD_SECONDS = 30;
/**
 * Number of steps before and after the current one whose codes are accepted, to allow for clock differences (RFC 6238, section
 * 5.2).
 */
const WINDOW = 1;

/** Generates the secret of an authenticator app, in base32. */
export function newTotpSecret(): string {
  return new Secret({ size: SECRET_BYTES }).base32;
}

/** Returns what an authenticator app reads from a QR code: `otpauth://totp/…`. */
export function totpUri(secret: string, userName: string): string {
  return totpOf(secret, userName).toString();
}

/** Returns the time step (RFC 6238) of a code, among those currently accepted; undefined when it belongs to none. */
export function totpStep(secret: string, code: string, now = Date.now()): number | undefined {
  const delta = totpOf(secret).validate({ token: code, timestamp: now, window: WINDOW });
  return delta === null ? undefined : Math.floor(now / 1000 / PERIOD_SECONDS) + delta;
}

/** The defaults of authenticator apps: SHA-1, six digits, half a minute. */
function totpOf(secret: string, label = ''): TOTP {
  return new TOTP({
    issuer: ISSUER,
    label,
    algorithm: 'SHA1',
    digits: 6,
    period: PERIOD_SECONDS,
    secret: Secret.fromBase32(secret),
  });
}

interface SecondFactorPorts {
  eventLog: EventLog;
  users: UserDirectory;
  /** Returns the key that seals the secrets of authenticator apps, of `SEALING_KEY_BYTES`. */
  totpSecretsKey(): Promise<Uint8Array>;
}

/** What is needed to set up an authenticator app. */
export interface TotpProposal {
  /** In base32. */
  secret: string;
  /** `otpauth://totp/…` */
  uri: string;
  /** The secret sealed for this user: may be kept until the first code shows that the app has it. */
  sealed: string;
}

/** Data of `UserTotpCodeUsed`. */
interface UserTotpCodeUsed {
  user_id: string;
  /** Time step of the code: half minutes since 1970. */
  step: number;
  /** Of the sealed secret that generated the code, lower-case hex. */
  secret_sha256: string;
}

/** More than the number of codes valid at a time: codes used before these are too old anyway. */
const USED_STEPS = 10;

/**
 * The second factor of users with passwords: time-based codes of an authenticator app (RFC 6238), each accepted once across all
 * processes, and recovery codes. Methods reject with `unavailable`.
 */
export class SecondFactor {
  readonly #ports: SecondFactorPorts;

  constructor(ports: SecondFactorPorts) {
    this.#ports = ports;
  }

  /** Returns a new secret for a user's app, or the one sealed in a proposal. Stores nothing. */
  async propose({ id, name }: User, sealed?: string): Promise<TotpProposal> {
    const key = await this.#ports.totpSecretsKey();
    const secret = sealed === undefined ? newTotpSecret() : decrypt(key, id, sealed);
    return { secret, uri: totpUri(secret, name), sealed: sealed ?? encrypt(key, id, secret) };
  }

  /**
   * Makes the sealed secret the user's, replacing any previous one, once a code shows that the app has it. Returns new recovery
   * codes, which are stored only as hashes. `validation_failed` names the field `code`; `conflict` for a user who signs in
   * through an identity provider.
   */
  async enable(
    user: User,
    { sealed, code }: { sealed: string; code: string },
    actor: Actor,
  ): Promise<string[]> {
    requirePasswordUser(user);
    if (!(await this.#redeemTotpCode(user, sealed, code, actor))) {
      throw invalidField(
        'code',
        'This is not the current code of the app. Check the clock of your device and try again.',
      );
    }
    const codes = newRecoveryCodes();
    const data = { user_id: user.id, sealed_secret: sealed, recovery_codes: codes.map(hashRecoveryCode) };
    await changeUsers(this.#ports.users, actor, () => ({ type: 'UserTotpSet', data }));
    return codes;
  }

  /** Whether it is a valid code of the user's app, or an unused recovery code; the code is used up by this. */
  async redeem(user: User, typed: string, actor: Actor): Promise<boolean> {
    const code = typed.replace(/\s/g, '');
    const factor = this.#ports.users.secondFactorOf(user.id);
    if (factor === undefined) return false;
    if (!/^\d{6}$/.test(code)) return this.#redeemRecoveryCode(user, code, actor);
    return this.#redeemTotpCode(user, factor.sealedSecret, code, actor);
  }

  /** Used codes are recorded in a stream of the user, of which only the end is read. */
  async #redeemTotpCode(user: User, sealed: string, code: string, actor: Actor): Promise<boolean> {
    const { secret } = await this.propose(user, sealed);
    const step = totpStep(secret, code);
    if (step === undefined) return false;
    const { eventLog } = this.#ports;
    const stream = totpStream(user.id);
    // An app that was set up again has different codes for the same moment.
    const used: UserTotpCodeUsed = { user_id: user.id, step, secret_sha256: sha256(sealed) };
    for (;;) {
      const last = await eventLog.readStream(stream, { direction: 'backwards', limit: USED_STEPS });
      if (last.some((event) => isCode(upcast(event).data, used))) return false;
      const event = newActorEvent(actor, INSTALLATION, 'UserTotpCodeUsed', { ...used });
      // If someone used a code at the same moment, it may have been this one.
      if (await appendBehind(eventLog, stream, event, last[0]?.revision ?? -1)) return true;
    }
  }

  async #redeemRecoveryCode({ id }: User, code: string, actor: Actor): Promise<boolean> {
    const sha256 = hashRecoveryCode(code);
    let isTaken = false;
    await changeUsers(this.#ports.users, actor, (all) => {
      isTaken = all.secondFactors.get(id)?.recoveryCodes.includes(sha256) ?? false;
      return isTaken ? { type: 'UserRecoveryCodeUsed', data: { user_id: id, sha256 } } : undefined;
    });
    return isTaken;
  }
}

/** Removes a user's second factor; does nothing if there is none. `not_found` when there is no such user. */
export function resetSecondFactor(users: UserDirectory, id: string, actor: Actor): Promise<void> {
  return changeUsers(users, actor, (all) =>
    findUser(all.users.get(id)).totpSetAt === undefined
      ? undefined
      : { type: 'UserTotpReset', data: { user_id: id } },
  );
}

function isCode(data: JsonObject, { step, secret_sha256 }: UserTotpCodeUsed): boolean {
  return data.step === step && data.secret_sha256 === secret_sha256;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

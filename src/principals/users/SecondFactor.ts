import { createHash } from 'node:crypto';
import { ServiceError } from '../../errors.ts';
import type { JsonObject } from '../../events/event.ts';
import { type Actor, newActorEvent } from '../../events/newEvent.ts';
import { INSTALLATION, totpStream } from '../../events/streamNames.ts';
import { upcast } from '../../events/upcast.ts';
import { appendBehind } from '../../ports/appendBehind.ts';
import type { EventLog } from '../../ports/eventLog.ts';
import { seal, unseal } from '../../sealing.ts';
import { changeUsers } from './changeUsers.ts';
import { hashRecoveryCode, newRecoveryCodes } from './recoveryCodes.ts';
import { newTotpSecret, totpStep, totpUri } from './totp.ts';
import type { UserDirectory } from './UserDirectory.ts';
import type { User } from './user.ts';
import { findUser, requirePasswordUser } from './userChecks.ts';

interface SecondFactorPorts {
  eventLog: EventLog;
  users: UserDirectory;
  /** The key that seals the secrets of authenticator apps, of `SEALING_KEY_BYTES`. */
  totpSecretsKey(): Promise<Uint8Array>;
}

/** What an authenticator app is set up with. */
export interface TotpProposal {
  /** In base32. */
  secret: string;
  /** `otpauth://totp/…` */
  uri: string;
  /** The secret sealed for this user: what may be kept until the first code shows that the app has it. */
  sealed: string;
}

/** Data of `UserTotpCodeUsed`. */
interface UserTotpCodeUsed {
  user_id: string;
  /** Of the code: half minutes since 1970. */
  step: number;
  /** Of the sealed secret that the code is of, lower-case hex. */
  secret_sha256: string;
}

/** More codes than are valid at once: what was used before them is too old by itself. */
const USED_STEPS = 10;

/**
 * The second factor of users with passwords: time-based codes of an authenticator app (RFC 6238), each taken once by all
 * processes together, and recovery codes. Methods reject with `unavailable`.
 */
export class SecondFactor {
  readonly #ports: SecondFactorPorts;

  constructor(ports: SecondFactorPorts) {
    this.#ports = ports;
  }

  /** A new secret for a user's app, or the one that a proposal sealed. Nothing is stored. */
  async propose({ id, name }: User, sealed?: string): Promise<TotpProposal> {
    const key = await this.#ports.totpSecretsKey();
    const secret = sealed === undefined ? newTotpSecret() : unseal(key, id, sealed);
    return { secret, uri: totpUri(secret, name), sealed: sealed ?? seal(key, id, secret) };
  }

  /**
   * Makes the secret that was sealed the user's, in place of any before, once a code shows that the app has it. The result
   * are new recovery codes, stored as hashes alone. `validation_failed` names the field `code`; `conflict` for who signs
   * in through an identity provider.
   */
  async enable(
    user: User,
    { sealed, code }: { sealed: string; code: string },
    actor: Actor,
  ): Promise<string[]> {
    requirePasswordUser(user);
    if (!(await this.#takeTotpCode(user, sealed, code, actor))) {
      const message =
        'This is not the code that the app currently shows. Check the clock of the device and try again.';
      throw new ServiceError('validation_failed', message, { details: [{ field: 'code', message }] });
    }
    const codes = newRecoveryCodes();
    const data = { user_id: user.id, sealed_secret: sealed, recovery_codes: codes.map(hashRecoveryCode) };
    await changeUsers(this.#ports.users, actor, () => ({ type: 'UserTotpSet', data }));
    return codes;
  }

  /** Whether it is a code of the user's app or a recovery code that was never used; it is used with that. */
  async take(user: User, typed: string, actor: Actor): Promise<boolean> {
    const code = typed.replace(/\s/g, '');
    const factor = this.#ports.users.secondFactorOf(user.id);
    if (factor === undefined) return false;
    if (!/^\d{6}$/.test(code)) return this.#takeRecoveryCode(user, code, actor);
    return this.#takeTotpCode(user, factor.sealedSecret, code, actor);
  }

  /** Which codes were used stands in a stream of the user's own, of which only the end is read. */
  async #takeTotpCode(user: User, sealed: string, code: string, actor: Actor): Promise<boolean> {
    const { secret } = await this.propose(user, sealed);
    const step = totpStep(secret, code);
    if (step === undefined) return false;
    const { eventLog } = this.#ports;
    const stream = totpStream(user.id);
    // An app that was set up anew has codes of its own for the same moment.
    const used: UserTotpCodeUsed = { user_id: user.id, step, secret_sha256: sha256(sealed) };
    for (;;) {
      const last = await eventLog.readStream(stream, { direction: 'backwards', limit: USED_STEPS });
      if (last.some((event) => isCode(upcast(event).data, used))) return false;
      const event = newActorEvent(actor, INSTALLATION, 'UserTotpCodeUsed', { ...used });
      // Whoever used a code at the same moment perhaps used this one.
      if (await appendBehind(eventLog, stream, event, last[0]?.revision ?? -1)) return true;
    }
  }

  async #takeRecoveryCode({ id }: User, code: string, actor: Actor): Promise<boolean> {
    const sha256 = hashRecoveryCode(code);
    let isTaken = false;
    await changeUsers(this.#ports.users, actor, (all) => {
      isTaken = all.secondFactors.get(id)?.recoveryCodes.includes(sha256) ?? false;
      return isTaken ? { type: 'UserRecoveryCodeUsed', data: { user_id: id, sha256 } } : undefined;
    });
    return isTaken;
  }
}

/** Takes a user's second factor away; no change without one. `not_found` where there is no such user. */
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

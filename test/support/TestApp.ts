import { TOTP } from 'otpauth';
import { SecondFactor } from '../../src/modules/auth/twoFactor.ts';
import { UserDirectory } from '../../src/modules/auth/users.ts';
import { managedKeys } from '../../src/server/keys.ts';

import type { TestUser } from './dashboard.ts';
import { eventually } from './eventually.ts';
import { notePhi } from './phi.ts';
import type { TestService } from './service.ts';

const PERIOD_MS = 30_000;

/** An authenticator app, whose codes are given once each. */
export class TestApp {
  readonly #secret: string;
  #lastStep = 0;

  /** `secret` as the page shows it: base32, perhaps with blanks. */
  constructor(secret: string) {
    this.#secret = secret.replaceAll(' ', '');
    notePhi(this.#secret);
  }

  /** The next code that was not given yet, as soon as it is valid: three are at once. */
  async code(): Promise<string> {
    const step = await eventually(() => {
      const now = Math.floor(Date.now() / PERIOD_MS);
      const next = Math.max(this.#lastStep + 1, now - 1);
      if (next > now + 1) throw new Error('no code is valid yet that was not given');
      return next;
    }, 2 * PERIOD_MS);
    this.#lastStep = step;
    return new TOTP({ secret: this.#secret }).generate({ timestamp: step * PERIOD_MS });
  }
}

/** Sets up an authenticator app for a user; with the user's recovery codes. */
export async function setUpApp(
  { config, eventLog }: TestService,
  { id }: TestUser,
): Promise<{ app: TestApp; recoveryCodes: string[] }> {
  const users = await UserDirectory.open(eventLog);
  const factor = new SecondFactor({
    eventLog,
    users,
    totpSecretsKey: () => managedKeys(config).totpSecrets.load(),
  });
  const user = users.find(id);
  if (user === undefined) throw new Error('there is no such user');
  const { secret, sealed } = await factor.propose(user);
  const app = new TestApp(secret);
  const actor = { principal: { type: 'operator', id: 'test' } } as const;
  const recoveryCodes = await factor.enable(user, { sealed, code: await app.code() }, actor);
  notePhi(...recoveryCodes);
  users.close();
  return { app, recoveryCodes };
}

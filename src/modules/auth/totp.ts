import { Secret, TOTP } from 'otpauth';

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

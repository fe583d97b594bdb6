import { hkdfSync } from 'node:crypto';
import { z } from 'zod';
import { ServiceError } from '../../platform/errors.ts';
import type { Clock } from '../../storage/rateLimiters.ts';
import type { AuthenticatedClient } from './clientAssertions.ts';
import type { FoundKey, KeyDirectory } from './keyDirectory.ts';
import { narrowPermissions } from './scopes.ts';

/** How long an access token is valid. */
export const TOKEN_SECONDS = 300;

const ALGORITHM = 'HS256';
const SECRET_BYTES = 32;

const claims = z.object({ sub: z.string(), scope: z.string(), client_kid: z.string() });

/** Whether a bearer credential has the form of an access token: API keys have no dots. */
export function looksLikeToken(text: string): boolean {
  return text.split('.').length === 3;
}

/**
 * Access tokens for the FHIR interface: signed statements of which API key may do what, for five minutes. Nothing of them is stored.
 */
export class AccessTokens {
  readonly #secret: Uint8Array;
  readonly #directory: KeyDirectory;
  readonly #clock: Clock;

  /** `secret` may serve other purposes, too: the one used here is derived from it. */
  constructor(secret: Uint8Array, { directory, clock }: { directory: KeyDirectory; clock: Clock }) {
    this.#secret = new Uint8Array(hkdfSync('sha256', secret, '', 'FHIR access tokens', SECRET_BYTES));
    this.#directory = directory;
    this.#clock = clock;
  }

  /** Returns a token with which a client may do what these scopes say. */
  async issue({ found, publicKey }: AuthenticatedClient, scopes: readonly string[]): Promise<string> {
    const { SignJWT } = await import('jose');
    const now = Math.floor(this.#clock.now() / 1000);
    return new SignJWT({ scope: scopes.join(' '), client_kid: publicKey.kid })
      .setProtectedHeader({ alg: ALGORITHM, typ: 'at+jwt' })
      .setSubject(found.key.id)
      .setIssuedAt(now)
      .setExpirationTime(now + TOKEN_SECONDS)
      .sign(this.#secret);
  }

  /**
   * Returns the key of a token as it is now, with what the scopes leave of its permissions; undefined if the service did not sign the
   * token, or the public key with which it was requested was removed. Rejects with `unauthorized` when it has expired, and with
   * `unavailable`.
   */
  async find(token: string): Promise<FoundKey | undefined> {
    const verified = await this.#verified(token);
    if (verified === undefined) return undefined;
    const { sub, scope, client_kid } = verified;
    // Another process may have created the key a moment ago.
    if (!this.#directory.known.keys.has(sub)) await this.#directory.refresh();
    const { keys, workspaces } = this.#directory.known;
    const key = keys.get(sub);
    const workspace = key && workspaces.get(key.workspace);
    if (!workspace || !key.publicKeys?.some(({ kid }) => kid === client_kid)) return undefined;
    const { permissions, writableTypes } = narrowPermissions(scope.split(' '), key.permissions);
    return { key: { ...key, permissions }, workspace, ...(writableTypes && { writableTypes }) };
  }

  async #verified(token: string): Promise<z.output<typeof claims> | undefined> {
    const { errors, jwtVerify } = await import('jose');
    try {
      const currentDate = new Date(this.#clock.now());
      const { payload } = await jwtVerify(token, this.#secret, { algorithms: [ALGORITHM], currentDate });
      return claims.parse(payload);
    } catch (error) {
      if (!(error instanceof errors.JWTExpired)) return undefined;
      throw new ServiceError('unauthorized', 'The access token has expired. Request another one.');
    }
  }
}

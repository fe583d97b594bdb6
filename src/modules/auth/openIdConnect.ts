import * as client from 'openid-client';
import type { OpenIdConnectSettings } from '../../platform/config.ts';
import { ServiceError, unavailable } from '../../platform/errors.ts';
import { type Origin, refuseWithoutRole, type SignInPorts } from './signIn.ts';
import { UserManager } from './userManager.ts';
import { type Identity, type Roles, rolesOfGrants, type User } from './users.ts';

/** What the browser's session must keep while the user is at the identity provider. */
export interface SignInFlow {
  state: string;
  nonce: string;
  codeVerifier: string;
  /** Whether the provider was asked to authenticate the user afresh. */
  isFresh: boolean;
}

/** A person authenticated by the identity provider. */
export interface ProvidedUser {
  identity: Identity;
  /** The user's name there. */
  name: string;
  /** Empty: none of this service's roles. */
  roles: Roles;
  /** When the provider authenticated the user, in milliseconds since 1970; undefined: not stated. */
  provedAt: number | undefined;
}

const TIMEOUT_SECONDS = 5;
/** Maximum age of a fresh authentication: the time it takes to return from the provider. */
const FRESH_SECONDS = 60;
const SCOPE = 'openid profile email';
const MAX_NAME_LENGTH = 100;

type Claims = Record<string, unknown>;

/**
 * Signs users in through an identity provider: OpenID Connect's authorization code flow with PKCE, state and nonce. The
 * provider's metadata is requested when first needed. Methods reject with `unavailable` when the provider does not answer.
 */
export class IdentityProvider {
  readonly #settings: OpenIdConnectSettings;
  #discovery: Promise<client.Configuration> | undefined;

  constructor(settings: OpenIdConnectSettings) {
    this.#settings = settings;
  }

  /** Its display name: the host name. */
  get name(): string {
    return new URL(this.#settings.issuer).hostname;
  }

  /**
   * Returns where to send the browser, and what to remember until it is back at `redirectUri`. With `isFresh` the user has to
   * authenticate again, even with an active session at the provider.
   */
  async begin(redirectUri: string, isFresh = false): Promise<{ url: string; flow: SignInFlow }> {
    const configuration = await this.#configuration();
    const flow = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      codeVerifier: client.randomPKCECodeVerifier(),
      isFresh,
    };
    const url = client.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: SCOPE,
      state: flow.state,
      nonce: flow.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(flow.codeVerifier),
      code_challenge_method: 'S256',
      ...(isFresh && { prompt: 'login', max_age: '0' }),
    });
    return { url: url.href, flow };
  }

  /**
   * Returns the user when the browser is back: `address` is the redirect URI with the parameters added by the provider. Rejects
   * with `unauthorized` when the provider did not sign the user in, or the response belongs to another flow.
   */
  async finish(address: URL, { state, nonce, codeVerifier, isFresh }: SignInFlow): Promise<ProvidedUser> {
    const configuration = await this.#configuration();
    try {
      const tokens = await client.authorizationCodeGrant(configuration, address, {
        pkceCodeVerifier: codeVerifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
        ...(isFresh && { maxAge: FRESH_SECONDS }),
      });
      const claims = (tokens.claims() ?? {}) as client.IDToken & Claims;
      const all = await this.#allClaims(configuration, claims, tokens.access_token);
      return {
        identity: { issuer: claims.iss, subject: claims.sub },
        name: nameIn(all) ?? claims.sub,
        roles: rolesIn(claimOf(all, this.#settings.roleClaim), this.#settings.groups),
        provedAt: claims.auth_time === undefined ? undefined : claims.auth_time * 1000,
      };
    } catch (error) {
      if (isAway(error)) throw unavailable('identity provider', error);
      throw new ServiceError('unauthorized', 'The identity provider did not sign you in. Try again.', {
        cause: error,
      });
    }
  }

  /** Returns the claims of the ID token and, if they lack a name or role, those of the user info too. */
  async #allClaims(
    configuration: client.Configuration,
    claims: client.IDToken,
    accessToken: string,
  ): Promise<Claims> {
    const isTold = claimOf(claims, this.#settings.roleClaim) !== undefined && nameIn(claims) !== undefined;
    if (isTold || configuration.serverMetadata().userinfo_endpoint === undefined) return claims;
    return { ...(await client.fetchUserInfo(configuration, accessToken, claims.sub)), ...claims };
  }

  #configuration(): Promise<client.Configuration> {
    const { issuer, clientId, clientSecret } = this.#settings;
    // The settings allow http: only on this machine.
    const execute = issuer.startsWith('http:') ? [client.allowInsecureRequests] : [];
    this.#discovery ??= client
      .discovery(new URL(issuer), clientId, clientSecret, undefined, { execute, timeout: TIMEOUT_SECONDS })
      .catch((error: unknown) => {
        this.#discovery = undefined;
        throw unavailable('identity provider', error);
      });
    return this.#discovery;
  }
}

/** Whether the provider failed to answer properly, rather than refused. */
function isAway(error: unknown): boolean {
  if (error instanceof TypeError) return true;
  // An expired code is the user's problem; anything else, such as a wrong client secret, the operator's.
  if (error instanceof client.ResponseBodyError) return error.error !== 'invalid_grant';
  const code = error instanceof client.ClientError ? error.code : undefined;
  return ['OAUTH_TIMEOUT', 'OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_RESPONSE_IS_NOT_JSON'].includes(
    code ?? '',
  );
}

/** Returns a claim by name; a nested one is named with dots (`realm_access.roles`). */
function claimOf(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  return name
    .split('.')
    .reduce<unknown>(
      (value, part) => (typeof value === 'object' && value !== null ? (value as Claims)[part] : undefined),
      claims,
    );
}

/** Returns this service's roles in a claim that is a role or group, or a list of these. */
function rolesIn(claim: unknown, groups: OpenIdConnectSettings['groups']): Roles {
  const named = [claim].flat();
  const ofGroups = Object.entries(groups).flatMap(([group, grants]) => (named.includes(group) ? grants : []));
  return rolesOfGrants([...named, ...ofGroups]);
}

function nameIn({ preferred_username, email, name }: Claims): string | undefined {
  const named = [preferred_username, email, name].filter((one) => typeof one === 'string');
  return named.map(cleanName).find((one) => one !== '');
}

function cleanName(name: string): string {
  return name
    .replace(/\p{Cc}/gu, '')
    .trim()
    .slice(0, MAX_NAME_LENGTH);
}

/**
 * Returns the user authenticated by the identity provider: created the first time, with the roles that the provider currently
 * gives. A user is identified only by issuer and subject, so that nobody can become another user by taking their name. Rejects
 * with `unauthorized` without a role, and with `unavailable`.
 */
export async function findProvided(
  ports: SignInPorts,
  provided: ProvidedUser,
  origin: Origin,
): Promise<User> {
  const { users } = ports;
  const { identity, roles } = provided;
  await users.refresh();
  const known = users.findByIdentity(identity);
  if (Object.keys(roles).length === 0) return refuseWithoutRole(ports, known, origin);
  const manager = new UserManager(users, {
    ...origin,
    principal: { type: 'service', id: 'openid-connect' },
  });
  const user = known ?? (await create(manager, provided));
  if (user.state === 'active') await manager.followClaim(user.id, roles);
  return users.find(user.id) as User;
}

/** If another user already has the name, the subject distinguishes them. */
async function create(manager: UserManager, { identity, name, roles }: ProvidedUser): Promise<User> {
  try {
    return await manager.createForIdentity(name, roles, identity);
  } catch (error) {
    if (!(error instanceof ServiceError && error.code === 'conflict')) throw error;
    return manager.createForIdentity(`${name} (${identity.subject})`, roles, identity);
  }
}

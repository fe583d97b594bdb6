import { randomBytes, scryptSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider, { type Configuration } from 'oidc-provider';
import { vi } from 'vitest';
import { generateId } from '../../src/modules/auth/apiKeys.ts';
import { changeUsers } from '../../src/modules/auth/userManager.ts';
import { ALL_WORKSPACES, type Role, type Roles, type UserDirectory } from '../../src/modules/auth/users.ts';

const CLIENT_ID = 'chartledger';
const CLIENT_SECRET = 'a secret of the tests';

/** An account at the identity provider. */
interface ProviderAccount {
  sub: string;
  preferred_username?: string;
  email?: string;
  roles?: unknown;
}

/** An OpenID provider on this machine; whoever comes is signed in, without a question, as `account`. */
export interface TestIdentityProvider {
  issuer: string;
  /** Settings with which a service uses it. */
  env: Record<string, string>;
  /** Who signs in next; undefined: somebody who says no. */
  account: ProviderAccount | undefined;
  /** Begins to answer, for a service with this redirect URI. */
  allow(redirectUri: string): void;
  stop(): Promise<void>;
}

/** `claims`: where the claims are told: in the ID token, or by the user info endpoint alone. */
export async function startIdentityProvider(claims: 'id token' | 'user info'): Promise<TestIdentityProvider> {
  const server = createServer((_req, res) => res.writeHead(503).end());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const self: TestIdentityProvider = {
    issuer,
    env: { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: CLIENT_ID, OIDC_CLIENT_SECRET: CLIENT_SECRET },
    account: undefined,
    allow(redirectUri) {
      // It warns of keys and a store that are for tests alone.
      const warnings = vi.spyOn(console, 'warn').mockReturnValue();
      const provider = new Provider(issuer, configuration(self, redirectUri, claims));
      warnings.mockRestore();
      const answer = provider.callback();
      server.removeAllListeners('request');
      server.on('request', (req, res) =>
        req.url?.startsWith('/interaction/') ? interact(provider, self, req, res) : answer(req, res),
      );
    },
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  return self;
}

function configuration(
  self: TestIdentityProvider,
  redirectUri: string,
  claims: 'id token' | 'user info',
): Configuration {
  return {
    clients: [{ client_id: CLIENT_ID, client_secret: CLIENT_SECRET, redirect_uris: [redirectUri] }],
    claims: { openid: ['sub'], profile: ['preferred_username', 'roles'], email: ['email'] },
    conformIdTokenClaims: claims === 'user info',
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    cookies: { keys: ['of the tests'] },
    pkce: { required: () => true },
    // Each sign-in asks anew who it is.
    ttl: { Session: 1, Grant: 60, Interaction: 60, AccessToken: 60, IdToken: 60 },
    async findAccount(_ctx, sub) {
      const account = self.account ?? { sub };
      return { accountId: sub, claims: async () => ({ ...account, sub }) };
    },
  };
}

/** Answers the provider's questions: who it is, and that the service may know. */
async function interact(
  provider: Provider,
  { account }: TestIdentityProvider,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const { prompt, params, session } = await provider.interactionDetails(req, res);
  if (account === undefined) {
    await provider.interactionFinished(req, res, { error: 'access_denied' });
    return;
  }
  if (prompt.name === 'login') {
    await provider.interactionFinished(req, res, { login: { accountId: account.sub } });
    return;
  }
  const grant = new provider.Grant({
    accountId: session?.accountId as string,
    clientId: params.client_id as string,
  });
  grant.addOIDCScope('openid profile email');
  const consent = { grantId: await grant.save() };
  await provider.interactionFinished(req, res, { consent }, { mergeWithLastSubmission: true });
}

/** A user with a role in all workspaces, or with some by workspace. */
interface NewUser {
  name: string;
  password: string;
  role?: Role;
  roles?: Roles;
}

/** Cheap: the product's own take half a second of a processor for each sign-in. */
const parameters = { N: 2 ** 4, r: 8, p: 1 };

/** Makes a user as `UserManager.create` does, with a password whose check costs next to nothing; the user's id. */
export async function makeUser(
  users: UserDirectory,
  { name, password, role = 'viewer', roles = { [ALL_WORKSPACES]: role } }: NewUser,
): Promise<string> {
  const salt = randomBytes(16);
  const hash = scryptSync(password.normalize('NFKC'), salt, 32, parameters);
  const stored = { ...parameters, salt: salt.toString('base64'), hash: hash.toString('base64') };
  const id = generateId('usr');
  const actor = { principal: { type: 'operator', id: 'test' } } as const;
  await changeUsers(users, actor, () => ({
    type: 'UserCreated',
    data: { user_id: id, name, roles, origin: 'password', password: { algorithm: 'scrypt', ...stored } },
  }));
  return id;
}

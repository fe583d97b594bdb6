import type { Request } from 'express';
import type { SignInFlow } from '../../../users/IdentityProvider.ts';
import { signInProvided } from '../../../users/signInProvided.ts';
import { addressOf, originOf } from '../origin.ts';
import type { DashboardRoute } from '../route.ts';
import { beginSession } from '../session.ts';
import { pathAfter, refusedPage, type SignInPagePorts } from './signIn.ts';

const PATH = '/sign-in/openid-connect';
const CALLBACK = `${PATH}/callback`;

declare module 'express-session' {
  interface SessionData {
    /** A sign-in that is on its way to the identity provider and back, and where it leads to. */
    openIdConnect?: { flow: SignInFlow; next: string } | undefined;
  }
}

export interface OpenIdConnectPagePorts extends SignInPagePorts {
  /** The service's address as browsers see it; undefined: the one that a request was sent to. */
  publicUrl: string | undefined;
}

/** Signing in through an identity provider. */
export function openIdConnectRoutes(ports: OpenIdConnectPagePorts): DashboardRoute[] {
  const { identityProvider } = ports;
  if (identityProvider === undefined) return [];
  const redirectUri = (req: Request) => `${addressOf(req, ports.publicUrl)}/dashboard${CALLBACK}`;
  return [
    {
      method: 'get',
      path: PATH,
      access: 'public',
      async handle(visit) {
        const { req } = visit;
        const next = pathAfter(req.query.next);
        try {
          const { url, flow } = await identityProvider.begin(redirectUri(req));
          req.session.openIdConnect = { flow, next };
          return { redirect: url };
        } catch (error) {
          return { page: refusedPage(ports, visit, next, error) };
        }
      },
    },
    {
      method: 'get',
      path: CALLBACK,
      access: 'public',
      async handle(visit) {
        const { req } = visit;
        const begun = req.session.openIdConnect;
        // An answer is taken once.
        req.session.openIdConnect = undefined;
        if (begun === undefined) return { redirect: '/sign-in' };
        const address = new URL(redirectUri(req));
        address.search = new URL(req.originalUrl, address).search;
        try {
          const provided = await identityProvider.finish(address, begun.flow);
          await beginSession(req, await signInProvided(ports, provided, originOf(visit)));
        } catch (error) {
          return { page: refusedPage(ports, visit, begun.next, error) };
        }
        return { redirect: begun.next };
      },
    },
  ];
}

import type { Request } from 'express';
import { addressOf } from '../../api/server/addressOf.ts';
import { findProvided } from '../../modules/auth/findProvided.ts';
import type { ProvidedUser, SignInFlow } from '../../modules/auth/IdentityProvider.ts';
import { ServiceError } from '../../platform/errors.ts';
import { html } from '../components/html.ts';
import type { DashboardRoute, Reply, Visit } from '../components/route.ts';
import { clearCookie, setSignedCookie, signedCookie } from '../http/cookies.ts';
import { enter } from '../http/enter.ts';
import { isFromOtherSite, originOf } from '../http/origin.ts';
import { renewProof, signedInUser } from '../http/session.ts';
import { pathAfter, refusedPage, type SignInPagePorts } from './signIn.ts';

const PATH = '/sign-in/openid-connect';
const CALLBACK = `${PATH}/callback`;

/** A sign-in that is on its way to the identity provider and back, and where it leads to. */
const COOKIE = 'chartledger_sign_in';
const KEPT_MS = 15 * 60_000;

interface Begun {
  flow: SignInFlow;
  next: string;
  /** The signed-in user who is only proving their identity again; undefined: a sign-in. */
  confirms?: string | undefined;
}

export interface OpenIdConnectPagePorts extends SignInPagePorts {
  /** The service's address as browsers see it; undefined: the one to which a request was sent. */
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
      roles: 'public',
      async handle(visit) {
        const { req, res } = visit;
        // Otherwise a link on another site could open any page by way of a provider that asks nothing.
        const next = isFromOtherSite(req) ? '/' : pathAfter(req.query.next);
        try {
          const confirms = req.query.confirm ? signedInUser(req, ports.users)?.id : undefined;
          const { url, flow } = await identityProvider.begin(redirectUri(req), confirms !== undefined);
          setSignedCookie(
            req,
            res,
            COOKIE,
            JSON.stringify({ flow, next, confirms } satisfies Begun),
            KEPT_MS,
          );
          return { redirect: url };
        } catch (error) {
          return { page: refusedPage(ports, visit, next, error) };
        }
      },
    },
    {
      method: 'get',
      path: CALLBACK,
      roles: 'public',
      async handle(visit) {
        const { req, res } = visit;
        const kept = signedCookie(req, COOKIE);
        if (kept === undefined) return { redirect: '/sign-in' };
        const begun: Begun = JSON.parse(kept);
        // A response is accepted once.
        clearCookie(req, res, COOKIE);
        const address = new URL(redirectUri(req));
        address.search = new URL(req.originalUrl, address).search;
        try {
          const provided = await identityProvider.finish(address, begun.flow);
          if (begun.confirms !== undefined) {
            confirm(ports, visit, provided, begun);
            return leadOn(visit, begun.next);
          }
          const user = await findProvided(ports, provided, originOf(visit));
          await enter(ports, visit, user, { next: begun.next, provedAt: provided.provedAt ?? 0 });
          return leadOn(visit, begun.next);
        } catch (error) {
          return { page: refusedPage(ports, visit, begun.next, error) };
        }
      },
    },
  ];
}

/** Notes that a signed-in user has proved their identity again, if it is the same user. */
function confirm(
  { users }: OpenIdConnectPagePorts,
  { req }: Visit,
  { identity }: ProvidedUser,
  { confirms }: Begun,
): void {
  const user = signedInUser(req, users);
  if (user === undefined || user.id !== confirms || users.findByIdentity(identity)?.id !== user.id) {
    throw new ServiceError(
      'unauthorized',
      'The identity provider signed in a different user. Nothing was changed.',
    );
  }
  renewProof(req);
}

/**
 * Leads to a page by way of one of this site: after a redirect, browsers would still say that the provider's site leads
 * there.
 */
function leadOn({ res }: Visit, path: string): Reply {
  const target = `/dashboard${path}`;
  res.set('Refresh', `0;url=${target}`);
  const body = html`<h1>Signed in</h1>
<p><a href="${target}">Continue</a></p>`;
  return { page: { title: 'Signed in', body } };
}

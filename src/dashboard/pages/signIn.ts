import type { Request } from 'express';
import { addressOf, statusOf } from '../../api/server/answer.ts';
import {
  findProvided,
  type IdentityProvider,
  type ProvidedUser,
  type SignInFlow,
} from '../../modules/auth/openIdConnect.ts';
import { provePassword, recordSignOut, type SignInPorts } from '../../modules/auth/signIn.ts';
import { UserLinks } from '../../modules/auth/userManager.ts';
import type { User } from '../../modules/auth/users.ts';
import { type ErrorCode, ServiceError } from '../../platform/errors.ts';
import { formError, input, messageOf, newPasswordFields, repeatedPassword } from '../components/forms.ts';
import {
  type DashboardRoute,
  html,
  type Page,
  passwordOf,
  problemOf,
  type Refusal,
  type Reply,
  textOf,
  type Visit,
} from '../components/page.ts';
import { roleList } from '../components/people.ts';
import { bdi } from '../components/text.ts';
import {
  browsersOf,
  clearCookie,
  endSession,
  isFromOtherSite,
  originOf,
  pathAfter,
  renewProof,
  sessionSeconds,
  setSignedCookie,
  signedCookie,
  signedInUser,
} from '../http/session.ts';
import { signInSession } from '../http/visit.ts';

/** The page of an invitation: its user chooses a password, once. */
export function invitationRoutes(ports: SignInPorts): DashboardRoute[] {
  const links = (visit: Visit) =>
    new UserLinks(ports.users, { ...originOf(visit), principal: { type: 'service', id: 'invitation' } });
  return [
    {
      method: 'get',
      path: '/invitation',
      roles: 'public',
      async handle(visit) {
        const token = String(visit.req.query.token);
        return { page: invitationPage(visit, await links(visit).findInvited(token), token) };
      },
    },
    {
      method: 'post',
      path: '/invitation',
      roles: 'public',
      async handle(visit) {
        const token = textOf(visit.form, 'token');
        const invited = await links(visit).findInvited(token);
        try {
          const user = await links(visit).redeemInvitation(token, repeatedPassword(visit.form));
          return await signInSession(ports, visit, user, { next: '/' });
        } catch (error) {
          return { page: invitationPage(visit, invited, token, problemOf(error)) };
        }
      },
    },
  ];
}

function invitationPage({ csrf }: Visit, { name, roles }: User, token: string, refusal?: Refusal): Page {
  return {
    title: 'Choose a password',
    ...(refusal && { status: refusal.status }),
    body: html`<h1>Choose a password</h1>
<p>You sign in as <strong>${bdi(name)}</strong>, with the role ${roleList(roles)}.</p>
${formError(refusal)}
<form method="post" action="/dashboard/invitation">${csrf}<input type="hidden" name="token" value="${token}">
<input type="hidden" name="username" value="${name}" autocomplete="username">
${newPasswordFields(refusal)}
<button type="submit">Set password and sign in</button>
</form>`,
  };
}

interface SignInPagePorts extends SignInPorts {
  /** Undefined: users sign in only with passwords. */
  identityProvider: IdentityProvider | undefined;
}

const refusals: readonly ErrorCode[] = ['unauthorized', 'rate_limited', 'unavailable'];

/** Signing in with a password, and signing out. */
export function signInRoutes(ports: SignInPagePorts): DashboardRoute[] {
  return [
    {
      method: 'get',
      path: '/sign-in',
      roles: 'public',
      async handle(visit) {
        const next = pathAfter(visit.req.query.next);
        if (signedInUser(visit.req, ports.users)) return { redirect: next };
        return { page: signInPage(ports, visit, next) };
      },
    },
    {
      method: 'post',
      path: '/sign-in',
      roles: 'public',
      async handle(visit) {
        const { form, req } = visit;
        const next = pathAfter(textOf(form, 'next'));
        const name = textOf(form, 'name');
        try {
          const credentials = { name, password: passwordOf(form, 'password'), browsers: browsersOf(req) };
          const user = await provePassword(ports, credentials, originOf(visit));
          return await signInSession(ports, visit, user, { next });
        } catch (error) {
          return { page: refusedPage(ports, visit, next, error, name) };
        }
      },
    },
    {
      method: 'post',
      path: '/sign-out',
      roles: 'signed-in',
      isForSetup: true,
      async handle(visit) {
        const { user } = visit;
        await endSession(visit.req);
        await recordSignOut(ports, user, originOf(visit));
        return { redirect: '/sign-in' };
      },
    },
  ];
}

/**
 * Returns the sign-in page with what was wrong, so that it can be tried again, or another way; throws any error that
 * is not one of the sign-in.
 */
function refusedPage(ports: SignInPagePorts, visit: Visit, next: string, error: unknown, name = ''): Page {
  if (!isSignInRefusal(error)) throw error;
  return {
    ...signInPage(ports, visit, next, { name, error: error.message }),
    status: statusOf[error.code],
    error,
  };
}

/** Whether an error is the refusal of a sign-in, to be shown with the form. */
export function isSignInRefusal(error: unknown): error is ServiceError {
  return error instanceof ServiceError && refusals.includes(error.code);
}

/** Returns the sign-in page; `error` is what was wrong the last time. */
function signInPage(
  { identityProvider, users }: SignInPagePorts,
  { csrf, req }: Visit,
  next: string,
  { name = '', error }: { name?: string; error?: string } = {},
): Page {
  const target = `/dashboard${next}`;
  return {
    title: 'Sign in',
    body: html`<h1>Sign in</h1>
${
  users.all().length === 0 &&
  html`<p class="banner"><strong>No users yet.</strong> The setup link creates the first administrator. The service prints one, valid for 24 hours, at every start: look for <code>/dashboard/setup</code> in its output, or restart it to get another link.</p>`
}
${req.session?.typedForm && html`<p class="notice">Your session has ended, so nothing was changed. Sign in again to return to the form.</p>`}
${formError(error)}
<form method="post" action="/dashboard/sign-in">${csrf}<input type="hidden" name="next" value="${target}">
${input({ name: 'name', label: 'Name', value: name, isRequired: true, hasFocus: true, autocomplete: 'username' })}
${input({ name: 'password', label: 'Password', type: 'password', isRequired: true, autocomplete: 'current-password' })}
<button type="submit">Sign in</button>
</form>
${
  identityProvider &&
  html`<p><a role="button" class="outline secondary" href="/dashboard/sign-in/openid-connect?next=${encodeURIComponent(target)}">Sign in with ${identityProvider.name}</a></p>`
}`,
  };
}

const PATH = '/sign-in/openid-connect';
const CALLBACK = `${PATH}/callback`;

/** A sign-in that is on its way to the identity provider and back, and where it leads to. */
const COOKIE = 'chartledger_sign_in';
const COOKIE_MAX_AGE_MS = 15 * 60_000;

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
            COOKIE_MAX_AGE_MS,
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
          await signInSession(ports, visit, user, { next: begun.next, provedAt: provided.provedAt ?? 0 });
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

/** Prolongs the session of a page that stays open, and returns for how many seconds. */
export function prolongRoutes(): DashboardRoute[] {
  return [
    {
      method: 'get',
      path: '/session',
      roles: 'signed-in',
      isForSetup: true,
      handle: async ({ req }) => ({ fragment: html`${sessionSeconds(req)}` }),
    },
  ];
}

/** The page of a setup link: it creates the first administrator, once. */
export function setupRoutes(ports: SignInPorts): DashboardRoute[] {
  const links = (visit: Visit) =>
    new UserLinks(ports.users, { ...originOf(visit), principal: { type: 'service', id: 'setup-link' } });
  return [
    {
      method: 'get',
      path: '/setup',
      roles: 'public',
      async handle(visit) {
        const { token } = visit.req.query;
        await links(visit).requireSetupLink(String(token));
        return { page: setupPage(visit, String(token)) };
      },
    },
    {
      method: 'post',
      path: '/setup',
      roles: 'public',
      async handle(visit) {
        const { form, notice } = visit;
        const token = textOf(form, 'token');
        const name = textOf(form, 'name');
        try {
          await links(visit).requireSetupLink(token);
          const password = repeatedPassword(form);
          const user = await links(visit).redeemSetupLink(token, name, password);
          const reply = await signInSession(ports, visit, user, { next: '/' });
          notice('Welcome. You are the first administrator.');
          return reply;
        } catch (error) {
          return { page: setupPage(visit, token, name, problemOf(error)) };
        }
      },
    },
  ];
}

function setupPage({ csrf }: Visit, token: string, name = '', refusal?: Refusal): Page {
  const error = messageOf(refusal?.details, 'name');
  return {
    title: 'Set up the dashboard',
    ...(refusal && { status: refusal.status }),
    body: html`<h1>Set up the dashboard</h1>
<p>You become the first administrator, who creates workspaces, API keys and other users.</p>
${formError(refusal)}
<form method="post" action="/dashboard/setup">${csrf}<input type="hidden" name="token" value="${token}">
${input({
  name: 'name',
  label: 'Name',
  value: name,
  isRequired: true,
  hasFocus: true,
  autocomplete: 'username',
  hint: 'You sign in with this name. Usually your email address.',
  error,
})}
${newPasswordFields(refusal)}
<button type="submit">Create administrator</button>
</form>`,
  };
}

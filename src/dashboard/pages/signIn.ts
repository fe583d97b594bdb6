import { statusOf } from '../../api/server/errorAnswer.ts';
import type { IdentityProvider } from '../../modules/auth/IdentityProvider.ts';
import { provePassword, recordSignOut, type SignInPorts } from '../../modules/auth/signIn.ts';
import { type ErrorCode, ServiceError } from '../../platform/errors.ts';
import { formError, input } from '../components/formFields.ts';
import { html } from '../components/html.ts';
import type { DashboardRoute, Page, Visit } from '../components/route.ts';
import { passwordOf, textOf } from '../components/sentForm.ts';
import { enter } from '../http/enter.ts';
import { browsersOf } from '../http/knownBrowser.ts';
import { originOf } from '../http/origin.ts';
import { endSession, signedInUser } from '../http/session.ts';

export interface SignInPagePorts extends SignInPorts {
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
          return await enter(ports, visit, user, { next });
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
 * Returns where to go after the sign-in, below `/dashboard`: the requested page of the dashboard, otherwise its
 * start. An address on another site is not accepted.
 */
export function pathAfter(next: unknown): string {
  const base = 'http://dashboard.invalid';
  const target = typeof next === 'string' && URL.canParse(next, base) ? new URL(next, base) : undefined;
  if (target?.origin !== base) return '/';
  const [, path] = /^\/dashboard(\/.*)$/.exec(target.pathname) ?? [];
  return path === undefined ? '/' : path + target.search;
}

/**
 * Returns the sign-in page with what was wrong, so that it can be tried again, or another way; throws any error that
 * is not one of the sign-in.
 */
export function refusedPage(
  ports: SignInPagePorts,
  visit: Visit,
  next: string,
  error: unknown,
  name = '',
): Page {
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
export function signInPage(
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
${input({ name: 'name', label: 'Name', value: name, isRequired: true, autocomplete: 'username' })}
${input({ name: 'password', label: 'Password', type: 'password', isRequired: true, autocomplete: 'current-password' })}
<button type="submit">Sign in</button>
</form>
${
  identityProvider &&
  html`<p><a role="button" class="outline secondary" href="/dashboard/sign-in/openid-connect?next=${encodeURIComponent(target)}">Sign in with ${identityProvider.name}</a></p>`
}`,
  };
}

import { generate } from 'lean-qr';
import { toSvgDataURL } from 'lean-qr/extras/svg';
import { statusOf } from '../../api/server/answer.ts';
import { proveAgain, proveCode, type SignInPorts } from '../../modules/auth/signIn.ts';
import { resetSecondFactor, type TotpProposal } from '../../modules/auth/twoFactor.ts';
import { UserManager } from '../../modules/auth/userManager.ts';
import { hasAnyRole, type Role, type User } from '../../modules/auth/users.ts';
import { invalidField, ServiceError } from '../../platform/errors.ts';
import {
  codeField,
  formError,
  input,
  messageOf,
  newPasswordFields,
  repeatedPassword,
  select,
} from '../components/forms.ts';
import { breadcrumb } from '../components/layout.ts';
import {
  type DashboardRoute,
  type Html,
  html,
  type Page,
  passwordOf,
  problemOf,
  type Refusal,
  textOf,
  type Visit,
} from '../components/page.ts';
import { userFacts } from '../components/people.ts';
import { bdi, code } from '../components/text.ts';
import {
  browsersOf,
  continueSession,
  originOf,
  renewProof,
  secondStepOf,
  sessionIdOf,
} from '../http/session.ts';
import { completeSignIn } from '../http/visit.ts';
import { isSignInRefusal } from './signIn.ts';

declare module 'express-session' {
  interface SessionData {
    /** The sealed secret of an authenticator app that is being set up. */
    totpProposal?: string | undefined;
  }
}

export interface TwoFactorPagePorts extends SignInPorts {
  /** The roles, in whatever workspace, whose users with passwords also need an authenticator app. */
  requireTotp: readonly Role[];
}

const twoFactorPath = '/account/two-factor';

/** Setting up an authenticator app for oneself, and removing it. */
export function twoFactorRoutes(ports: TwoFactorPagePorts): DashboardRoute[] {
  const { secondFactor, users } = ports;
  /** The proposal stays the same until it is accepted, so that a reloaded page shows what the app has scanned. */
  const propose = async ({ req, user }: Visit) => {
    const proposal = await secondFactor.propose(user, req.session.totpProposal);
    req.session.totpProposal = proposal.sealed;
    return proposal;
  };
  return [
    {
      method: 'get',
      path: twoFactorPath,
      roles: 'signed-in',
      isForSetup: true,
      async handle(visit) {
        if (visit.user.origin !== 'password') return { redirect: '/account' };
        return { page: setupPage(ports, visit, await propose(visit)) };
      },
    },
    {
      method: 'post',
      path: twoFactorPath,
      roles: 'signed-in',
      isForSetup: true,
      isSensitive: true,
      async handle(visit) {
        const { req, form, user, actor } = visit;
        const proposal = await propose(visit);
        try {
          const typed = { sealed: proposal.sealed, code: textOf(form, 'code').replace(/\s/g, '') };
          const codes = await secondFactor.enable(user, typed, actor);
          req.session.totpProposal = undefined;
          return { page: recoveryCodesPage(codes) };
        } catch (error) {
          return { page: setupPage(ports, visit, proposal, problemOf(error)) };
        }
      },
    },
    {
      method: 'post',
      path: `${twoFactorPath}/off`,
      page: '/account',
      roles: 'signed-in',
      isSensitive: true,
      async handle({ user, actor, notice }) {
        if (hasAnyRole(user, ports.requireTotp))
          throw new ServiceError('conflict', 'This service requires two-factor sign-in for your role.');
        await resetSecondFactor(users, user.id, actor);
        notice('Two-factor sign-in is off.');
        return { redirect: '/account' };
      },
    },
  ];
}

/** Returns what the account's page says about the second factor. */
function twoFactorSection({ requireTotp }: TwoFactorPagePorts, { user, csrf }: Visit): Html {
  const isOn = user.totpSetAt !== undefined;
  return html`<h2>Two-factor sign-in</h2>
<p>${
    isOn
      ? 'An authenticator app is set up: signing in requires its code and your password.'
      : 'With an authenticator app, your password is not enough to sign in.'
  }</p>
<div class="actions">
<a role="button" class="outline secondary" href="/dashboard${twoFactorPath}">${isOn ? 'Set up another app' : 'Set up an app'}</a>
${
  isOn &&
  !hasAnyRole(user, requireTotp) &&
  html`<form method="post" action="/dashboard${twoFactorPath}/off">${csrf}<button type="submit" class="outline secondary">Turn off</button></form>`
}
</div>`;
}

function setupPage(
  { requireTotp }: TwoFactorPagePorts,
  { user, csrf }: Visit,
  { secret, uri }: TotpProposal,
  refusal?: Refusal,
): Page {
  const image = toSvgDataURL(generate(uri), { on: 'black', off: 'white', scale: 5 });
  return {
    title: 'Set up two-factor sign-in',
    ...(refusal && { status: refusal.status }),
    body: html`${breadcrumb([{ text: 'Account', path: '/account' }])}
<h1>Set up two-factor sign-in</h1>
${hasAnyRole(user, requireTotp) && user.totpSetAt === undefined && html`<p>This service requires it for your role. Set it up to use everything else.</p>`}
${formError(refusal)}
<p>Scan the QR code with an authenticator app, then enter the code that it shows.</p>
<p><img src="${image}" alt="QR code of the key below" width="240" height="240"></p>
<p>If you cannot scan it, enter this key in the app: ${code(secret.replace(/.{4}(?=.)/g, '$& '))}</p>
<form method="post" action="/dashboard${twoFactorPath}">${csrf}
${codeField({ hint: 'Six digits.', error: messageOf(refusal?.details, 'code') })}
<div class="actions"><button type="submit">Turn on</button></div>
</form>`,
  };
}

function recoveryCodesPage(codes: readonly string[]): Page {
  return {
    title: 'Two-factor sign-in is on',
    body: html`<h1>Two-factor sign-in is on</h1>
<p>If you lose the app, you can sign in once with each of these recovery codes. <strong>Keep them in a safe place: they will not be shown again.</strong></p>
<pre id="recovery-codes" class="codes" tabindex="0" aria-label="Recovery codes">${codes.join('\n')}</pre>
<div class="actions"><button type="button" class="outline" data-copy="recovery-codes">Copy</button>
<a role="button" class="secondary" href="/dashboard">I have saved them</a></div>`,
  };
}

/** What users see and change of their own account. */
export function accountRoutes(ports: TwoFactorPagePorts): DashboardRoute[] {
  return [
    {
      method: 'get',
      path: '/account',
      roles: 'signed-in',
      handle: async (visit) => ({ page: accountPage(ports, visit) }),
    },
    {
      method: 'post',
      path: '/account/password',
      page: '/account',
      roles: 'signed-in',
      async handle(visit) {
        const { req, form, user, actor } = visit;
        try {
          const password = repeatedPassword(form);
          await requirePresentPassword(ports, visit);
          await new UserManager(ports.users, actor).setPassword(user.id, password);
        } catch (error) {
          return { page: accountPage(ports, visit, problemOf(error)) };
        }
        await continueSession(req, ports.users.find(user.id) as User);
        // The password alone proves the identity only of users without an authenticator app.
        if (user.totpSetAt === undefined) renewProof(req);
        visit.notice('Your password was changed. Sessions in other browsers have ended.');
        return { redirect: '/account' };
      },
    },
    {
      method: 'post',
      path: '/account/time-zone',
      page: '/account',
      roles: 'signed-in',
      async handle(visit) {
        const { form, user, actor, notice } = visit;
        try {
          await new UserManager(ports.users, actor).setTimeZone(user.id, textOf(form, 'time_zone'));
        } catch (error) {
          return { page: accountPage(ports, visit, problemOf(error)) };
        }
        notice('Your time zone was set.');
        return { redirect: '/account' };
      },
    },
  ];
}

async function requirePresentPassword(ports: TwoFactorPagePorts, visit: Visit): Promise<void> {
  const { req, form, user } = visit;
  const typed = { password: passwordOf(form, 'present'), session: sessionIdOf(req) as string };
  if (await proveAgain(ports, user, typed, originOf(visit))) return;
  throw invalidField('present', 'This is not your current password.');
}

function accountPage(ports: TwoFactorPagePorts, visit: Visit, refusal?: Refusal): Page {
  const { user, csrf } = visit;
  return {
    title: 'Account',
    ...(refusal && { status: refusal.status }),
    body: html`<h1>Account</h1>
${formError(refusal)}
${userFacts(user)}
<div class="charts">
<section class="card"><h2>Time zone</h2>
<form method="post" action="/dashboard/account/time-zone">${csrf}
${select({
  name: 'time_zone',
  label: 'Show times in',
  value: user.timeZone ?? '',
  options: [
    { value: '', text: 'UTC' },
    ...Intl.supportedValuesOf('timeZone').map((value) => ({ value, text: value.replaceAll('_', ' ') })),
  ],
  hint: 'UTC appears when you point at a time. “Today” in the filters of the audit trail is the day in this time zone.',
  error: messageOf(refusal?.details, 'time_zone'),
})}
<div class="actions"><button type="submit">Set time zone</button></div>
</form></section>
${
  user.origin === 'password' &&
  html`<section class="card"><h2>Change your password</h2>
<form method="post" action="/dashboard/account/password">${csrf}
${input({
  name: 'present',
  label: 'Current password',
  type: 'password',
  isRequired: true,
  autocomplete: 'current-password',
  error: messageOf(refusal?.details, 'present'),
})}
${newPasswordFields(refusal, 'New password')}
<div class="actions"><button type="submit">Change password</button></div>
</form></section>
<section class="card">${twoFactorSection(ports, visit)}</section>`
}</div>`,
  };
}

const signInCodePath = '/sign-in/code';

/** The second step of a sign-in: the code of an authenticator app, or a recovery code. */
export function secondStepRoutes(ports: SignInPorts): DashboardRoute[] {
  return [
    {
      method: 'get',
      path: signInCodePath,
      roles: 'public',
      async handle(visit) {
        const step = secondStepOf(visit.req, ports.users);
        return step ? { page: codePage(visit, step.user) } : { redirect: '/sign-in' };
      },
    },
    {
      method: 'post',
      path: signInCodePath,
      roles: 'public',
      async handle(visit) {
        const { req, form } = visit;
        // A password changed a moment ago ends the wait, too.
        await ports.users.refresh();
        const step = secondStepOf(req, ports.users);
        if (step === undefined) return { redirect: '/sign-in' };
        const { user, next } = step;
        try {
          const typed = { code: textOf(form, 'code'), browsers: browsersOf(req) };
          await proveCode(ports, user, typed, originOf(visit));
          const reply = await completeSignIn(ports, visit, user, { next });
          noticeOfRecovery(ports, visit, user.id, typed.code);
          return reply;
        } catch (error) {
          if (!isSignInRefusal(error)) throw error;
          return { page: codePage(visit, user, error) };
        }
      },
    },
  ];
}

/** Returns the notice that tells the user of a recovery code how many are left. */
function noticeOfRecovery({ users }: SignInPorts, { notice }: Visit, id: string, typed: string): void {
  if (/^[\d\s]+$/.test(typed)) return;
  const left = users.secondFactorOf(id)?.recoveryCodes.length ?? 0;
  notice(
    `Recovery codes left: ${left}. To get new ones, set up two-factor sign-in again on your account page.`,
  );
}

function codePage({ csrf }: Visit, { name }: User, error?: ServiceError): Page {
  return {
    title: 'Enter the code',
    ...(error && { status: statusOf[error.code], error }),
    body: html`<h1>Enter the code</h1>
<p>You are signing in as <strong>${bdi(name)}</strong>. <a href="/dashboard/sign-in">Not you?</a></p>
${formError(error?.message)}
<form method="post" action="/dashboard${signInCodePath}">${csrf}
${codeField({ hint: 'Six digits from your authenticator app, or a recovery code.', hasFocus: true })}
<button type="submit">Sign in</button>
</form>
`,
  };
}

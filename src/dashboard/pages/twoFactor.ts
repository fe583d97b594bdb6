import { generate } from 'lean-qr';
import { toSvgDataURL } from 'lean-qr/extras/svg';
import { resetSecondFactor, type TotpProposal } from '../../modules/auth/SecondFactor.ts';
import type { SignInPorts } from '../../modules/auth/signIn.ts';
import { hasAnyRole, type Role } from '../../modules/auth/user.ts';
import { ServiceError } from '../../platform/errors.ts';
import { breadcrumb } from '../components/breadcrumb.ts';
import { codeField } from '../components/code.ts';
import { formError, messageOf } from '../components/formFields.ts';
import { type Html, html } from '../components/html.ts';
import type { DashboardRoute, Page, Visit } from '../components/route.ts';
import { type Refusal, refusalOf, textOf } from '../components/sentForm.ts';
import { code } from '../components/text.ts';

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

const path = '/account/two-factor';

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
      path,
      roles: 'signed-in',
      isForSetup: true,
      async handle(visit) {
        if (visit.user.origin !== 'password') return { redirect: '/account' };
        return { page: setupPage(ports, visit, await propose(visit)) };
      },
    },
    {
      method: 'post',
      path,
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
          return { page: setupPage(ports, visit, proposal, refusalOf(error)) };
        }
      },
    },
    {
      method: 'post',
      path: `${path}/off`,
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
export function twoFactorSection({ requireTotp }: TwoFactorPagePorts, { user, csrf }: Visit): Html {
  const isOn = user.totpSetAt !== undefined;
  return html`<h2>Two-factor sign-in</h2>
<p>${
    isOn
      ? 'An authenticator app is set up: signing in requires its code and your password.'
      : 'With an authenticator app, nobody can sign in with your password alone.'
  }</p>
<div class="actions">
<a role="button" class="outline secondary" href="/dashboard${path}">${isOn ? 'Set up another app' : 'Set up an app'}</a>
${
  isOn &&
  !hasAnyRole(user, requireTotp) &&
  html`<form method="post" action="/dashboard${path}/off">${csrf}<button type="submit" class="outline secondary">Turn off</button></form>`
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
${refusal?.details.length === 0 && formError(refusal.text)}
<p>Scan the QR code with an authenticator app, then enter the code that it shows.</p>
<p><img src="${image}" alt="QR code of the key below" width="240" height="240"></p>
<p>If you cannot scan it, enter this key in the app: ${code(secret.replace(/.{4}(?=.)/g, '$& '))}</p>
<form method="post" action="/dashboard${path}">${csrf}
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

import { proveAgain } from '../../modules/auth/signIn.ts';
import { UserManager } from '../../modules/auth/UserManager.ts';
import type { User } from '../../modules/auth/user.ts';
import { ServiceError } from '../../platform/errors.ts';
import { formError, input, messageOf, select } from '../components/formFields.ts';
import { html } from '../components/html.ts';
import { newPasswordFields, repeatedPassword } from '../components/password.ts';
import type { DashboardRoute, Page, Visit } from '../components/route.ts';
import { passwordOf, type Refusal, refusalOf, textOf } from '../components/sentForm.ts';
import { userFacts } from '../components/userFacts.ts';
import { originOf } from '../http/origin.ts';
import { continueSession, renewProof, sessionIdOf } from '../http/session.ts';
import { type TwoFactorPagePorts, twoFactorSection } from './twoFactor.ts';

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
          return { page: accountPage(ports, visit, refusalOf(error)) };
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
          return { page: accountPage(ports, visit, refusalOf(error)) };
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
  const message = 'This is not your current password.';
  throw new ServiceError('validation_failed', message, { details: [{ field: 'present', message }] });
}

function accountPage(ports: TwoFactorPagePorts, visit: Visit, refusal?: Refusal): Page {
  const { user, csrf } = visit;
  return {
    title: 'Account',
    ...(refusal && { status: refusal.status }),
    body: html`<h1>Account</h1>
${userFacts(user)}
<h2>Time zone</h2>
<form method="post" action="/dashboard/account/time-zone">${csrf}
${select({
  name: 'time_zone',
  label: 'Also show times in',
  value: user.timeZone ?? '',
  options: [
    { value: '', text: 'UTC only' },
    ...Intl.supportedValuesOf('timeZone').map((value) => ({ value, text: value.replaceAll('_', ' ') })),
  ],
  hint: 'Every page shows times in UTC, and in this time zone as well. “Today” in the filters of the audit trail is the day in this time zone.',
  error: messageOf(refusal?.details, 'time_zone'),
})}
<div class="actions"><button type="submit">Set time zone</button></div>
</form>
${
  user.origin === 'password' &&
  html`<h2>Change your password</h2>
${refusal?.details.length === 0 && formError(refusal.text)}
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
</form>
${twoFactorSection(ports, visit)}`
}`,
  };
}

import { ServiceError } from '../../../errors.ts';
import { UserManager } from '../../../users/manageUsers.ts';
import { confirmPassword, type SignInPorts } from '../../../users/signIn.ts';
import type { User } from '../../../users/user.ts';
import { formError, input, messageOf } from '../components/form.ts';
import { newPasswordFields, repeatedPassword } from '../components/password.ts';
import { userFacts } from '../components/userFacts.ts';
import { passwordOf, type Refusal, refusalOf } from '../form.ts';
import { html } from '../html.ts';
import { originOf } from '../origin.ts';
import { type DashboardRoute, everyone, type Page, type Visit } from '../route.ts';
import { beginSession } from '../session.ts';

/** What a user sees and changes of himself. */
export function accountRoutes(ports: SignInPorts): DashboardRoute[] {
  return [
    {
      method: 'get',
      path: '/account',
      access: everyone,
      handle: async (visit) => ({ page: accountPage(visit) }),
    },
    {
      method: 'post',
      path: '/account/password',
      access: everyone,
      async handle(visit) {
        const { req, form, user, actor } = visit;
        try {
          const password = repeatedPassword(form);
          await requirePresentPassword(ports, visit);
          await new UserManager(ports.users, actor).setPassword(user.id, password);
        } catch (error) {
          return { page: accountPage(visit, refusalOf(error)) };
        }
        // The session goes on under a new id; those elsewhere have ended with the old password.
        await beginSession(req, ports.users.find(user.id) as User);
        visit.notice('Your password is changed. Sessions in other browsers have ended.');
        return { redirect: '/account' };
      },
    },
  ];
}

async function requirePresentPassword(ports: SignInPorts, visit: Visit): Promise<void> {
  const present = passwordOf(visit.form, 'present');
  if (await confirmPassword(ports, visit.user, present, originOf(visit))) return;
  const message = 'This is not your present password.';
  throw new ServiceError('validation_failed', message, { details: [{ field: 'present', message }] });
}

function accountPage({ user, csrf }: Visit, refusal?: Refusal): Page {
  return {
    title: 'Account',
    ...(refusal && { status: refusal.status }),
    body: html`<h1>Account</h1>
${userFacts(user)}
${
  user.origin === 'password' &&
  html`<h2>Change your password</h2>
${refusal?.details.length === 0 && formError(refusal.text)}
<form method="post" action="/dashboard/account/password">${csrf}
${input({
  name: 'present',
  label: 'Present password',
  type: 'password',
  isRequired: true,
  autocomplete: 'current-password',
  error: messageOf(refusal?.details, 'present'),
})}
${newPasswordFields(refusal, 'New password')}
<div class="actions"><button type="submit">Change password</button></div>
</form>`
}`,
  };
}

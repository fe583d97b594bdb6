import type { SignInPorts } from '../../modules/auth/signIn.ts';
import { UserLinks } from '../../modules/auth/UserLinks.ts';
import type { User } from '../../modules/auth/user.ts';
import { formError } from '../components/formFields.ts';
import { html } from '../components/html.ts';
import { newPasswordFields, repeatedPassword } from '../components/password.ts';
import type { DashboardRoute, Page, Visit } from '../components/route.ts';
import { type Refusal, refusalOf, textOf } from '../components/sentForm.ts';
import { enter } from '../http/enter.ts';
import { originOf } from '../http/origin.ts';

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
          return await enter(ports, visit, user, { next: '/' });
        } catch (error) {
          return { page: invitationPage(visit, invited, token, refusalOf(error)) };
        }
      },
    },
  ];
}

function invitationPage({ csrf }: Visit, { name }: User, token: string, refusal?: Refusal): Page {
  return {
    title: 'Choose a password',
    ...(refusal && { status: refusal.status }),
    body: html`<h1>Choose a password</h1>
<p>You sign in as <strong>${name}</strong>. This link works once.</p>
${refusal?.details.length === 0 && formError(refusal.text)}
<form method="post" action="/dashboard/invitation">${csrf}<input type="hidden" name="token" value="${token}">
<input type="hidden" name="username" value="${name}" autocomplete="username">
${newPasswordFields(refusal)}
<button type="submit">Set password and sign in</button>
</form>`,
  };
}

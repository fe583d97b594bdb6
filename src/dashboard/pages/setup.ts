import type { SignInPorts } from '../../modules/auth/signIn.ts';
import { UserLinks } from '../../modules/auth/UserLinks.ts';
import { formError, input, messageOf } from '../components/formFields.ts';
import { html } from '../components/html.ts';
import { newPasswordFields, repeatedPassword } from '../components/password.ts';
import type { DashboardRoute, Page, Visit } from '../components/route.ts';
import { type Refusal, refusalOf, textOf } from '../components/sentForm.ts';
import { enter } from '../http/enter.ts';
import { originOf } from '../http/origin.ts';

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
          const reply = await enter(ports, visit, user, { next: '/' });
          notice('Welcome. You are the first administrator.');
          return reply;
        } catch (error) {
          return { page: setupPage(visit, token, name, refusalOf(error)) };
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
${refusal?.details.length === 0 && formError(refusal.text)}
<form method="post" action="/dashboard/setup">${csrf}<input type="hidden" name="token" value="${token}">
${input({
  name: 'name',
  label: 'Name',
  value: name,
  isRequired: true,
  autocomplete: 'username',
  hint: 'You sign in with this name. Usually your email address.',
  error,
})}
${newPasswordFields(refusal)}
<button type="submit">Create administrator</button>
</form>`,
  };
}

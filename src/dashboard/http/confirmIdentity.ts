import { proveAgain, type SignInPorts } from '../../modules/auth/signIn.ts';
import type { User } from '../../modules/auth/user.ts';
import { codeField } from '../components/code.ts';
import { formError, input } from '../components/formFields.ts';
import { type Html, html } from '../components/html.ts';
import type { DashboardRoute, Reply, Visit } from '../components/route.ts';
import { passwordOf, textOf, valuesOf } from '../components/sentForm.ts';
import { originOf } from './origin.ts';
import { pageBefore } from './pageBefore.ts';
import { isProofFresh, renewProof, sessionIdOf } from './session.ts';

const PASSWORD = 'confirm_password';
const CODE = 'confirm_code';

/**
 * Resolves with the page that asks users to prove their identity once more, where the last proof is more than ten
 * minutes old; its form repeats the one that was sent, with the proof. Undefined where the change may be made.
 */
export async function confirmIdentity(
  ports: SignInPorts,
  visit: Visit,
  route: DashboardRoute,
): Promise<Reply | undefined> {
  const { req, form, user } = visit;
  if (isProofFresh(req)) return undefined;
  const isTried = form[PASSWORD] !== undefined || form[CODE] !== undefined;
  if (!isTried) return confirmationPage(visit, route);
  const session = sessionIdOf(req) as string;
  const proof =
    user.totpSetAt === undefined
      ? { session, password: passwordOf(form, PASSWORD) }
      : { session, code: textOf(form, CODE) };
  if (!(await proveAgain(ports, user, proof, originOf(visit)))) {
    return confirmationPage(visit, route, 'That is not correct. Try again.');
  }
  renewProof(req);
  return undefined;
}

function confirmationPage(visit: Visit, route: DashboardRoute, error?: string): Reply {
  return {
    page: {
      title: `${error === undefined ? '' : 'Error: '}Confirm your identity`,
      status: 403,
      body: html`<h1>Confirm your identity</h1>
<p>To change users, keys, webhooks, sources, workspaces or holds, to erase records or to export a workspace, you must have confirmed your identity within the last ten minutes. Nothing has been changed yet.</p>
${formError(error)}
${visit.user.origin === 'openid_connect' ? providerLink(visit, route) : proofForm(visit)}`,
    },
  };
}

function proofForm({ req, form, user, csrf }: Visit): Html {
  const sent = Object.keys(form).filter((name) => ![PASSWORD, CODE, 'csrf_token'].includes(name));
  return html`<form method="post" action="${req.originalUrl}">${csrf}
${sent.map((name) => valuesOf(form, name).map((value) => html`<input type="hidden" name="${name}" value="${value}">`))}
${proofField(user)}
<div class="actions"><button type="submit">Confirm and continue</button>
<a role="button" class="outline secondary" href="/dashboard">Cancel</a></div>
</form>`;
}

function proofField({ totpSetAt }: User): Html {
  if (totpSetAt !== undefined) {
    return codeField({ name: CODE, hint: 'The six-digit code from your authenticator app.' });
  }
  return input({
    name: PASSWORD,
    label: 'Your password',
    type: 'password',
    isRequired: true,
    autocomplete: 'current-password',
  });
}

/** The provider asks, and leads back to the page from which the form was sent: it has to be sent again. */
function providerLink({ req }: Visit, route: DashboardRoute): Html {
  const from = pageBefore(req, route) ?? '/dashboard';
  return html`<div class="actions">
<a role="button" href="/dashboard/sign-in/openid-connect?confirm=1&next=${encodeURIComponent(from)}">Confirm with the identity provider</a>
<a role="button" class="outline secondary" href="/dashboard">Cancel</a></div>`;
}

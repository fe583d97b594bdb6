import { statusOf } from '../../api/server/errorAnswer.ts';
import { proveCode, type SignInPorts } from '../../modules/auth/signIn.ts';
import type { ServiceError } from '../../platform/errors.ts';
import { codeField } from '../components/code.ts';
import { formError } from '../components/formFields.ts';
import { html } from '../components/html.ts';
import type { DashboardRoute, Page, Visit } from '../components/route.ts';
import { textOf } from '../components/sentForm.ts';
import { enterWhole } from '../http/enter.ts';
import { browsersOf } from '../http/knownBrowser.ts';
import { originOf } from '../http/origin.ts';
import { secondStepOf } from '../http/session.ts';
import { isSignInRefusal } from './signIn.ts';

const path = '/sign-in/code';

/** The second step of a sign-in: the code of an authenticator app, or a recovery code. */
export function secondStepRoutes(ports: SignInPorts): DashboardRoute[] {
  return [
    {
      method: 'get',
      path,
      roles: 'public',
      async handle(visit) {
        return secondStepOf(visit.req, ports.users) ? { page: codePage(visit) } : { redirect: '/sign-in' };
      },
    },
    {
      method: 'post',
      path,
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
          const reply = await enterWhole(ports, visit, user, { next });
          noticeOfRecovery(ports, visit, user.id, typed.code);
          return reply;
        } catch (error) {
          if (!isSignInRefusal(error)) throw error;
          return { page: codePage(visit, error) };
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

function codePage({ csrf }: Visit, error?: ServiceError): Page {
  return {
    title: 'Enter the code',
    ...(error && { status: statusOf[error.code], error }),
    body: html`<h1>Enter the code</h1>
${formError(error?.message)}
<form method="post" action="/dashboard${path}">${csrf}
${codeField({ hint: 'The six-digit code from your authenticator app, or one of your recovery codes.' })}
<button type="submit">Sign in</button>
</form>
<p class="muted">If you have neither the app nor the codes, ask an administrator to reset two-factor sign-in.</p>
<p><a href="/dashboard/sign-in">Start over</a></p>`,
  };
}

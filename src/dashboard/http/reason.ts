import { reasonRequired } from '../../modules/audit/recordAccess.ts';
import { requireReason } from '../../modules/erasure/holdState.ts';
import { ServiceError } from '../../platform/errors.ts';
import { formError, input } from '../components/forms.ts';
import {
  type DashboardRoute,
  type Html,
  html,
  type Page,
  problemOf,
  type Refusal,
  type Reply,
  textOf,
  type Visit,
} from '../components/page.ts';
import { reasonPath } from '../components/urls.ts';
import { shownPage, stateReason } from './session.ts';
import { repeatedFields } from './visit.ts';

const FIELD = 'read_reason';

export const REASON_ROUTE = '/workspaces/:workspace/reason';
export const REASON_TITLE = 'Why do you read records?';
export const REASON_TEXT =
  'The audit trail has your reason with everything that you open in this workspace, until you sign out or change it.';

/** Returns the field for why the user reads; `error` is what was wrong with the value. */
export function reasonField(value: string | undefined, error?: string): Html {
  return input({
    ...{ name: FIELD, label: 'Reason', value, error, isRequired: true, autocomplete: 'off' },
    placeholder: 'Appeal of claim 2231',
    hint: 'Do not identify anyone: the reason is kept permanently.',
  });
}

/**
 * Answers a request of a user, once the reason that a form has is noted. A request that reads without the reason that the workspace
 * requires is answered with the page that asks for it, which leads back; a form is sent once more with the reason, so that nothing
 * that was typed is lost.
 */
export async function withReason(
  visit: Visit,
  route: DashboardRoute,
  answer: () => Promise<Reply>,
): Promise<Reply> {
  const { req, form } = visit;
  // Parts of a page leave the session alone.
  const session = req.session as Visit['req']['session'] | undefined;
  const { typedForm, notices } = session ?? {};
  if (req.params.workspace !== undefined && form[FIELD] !== undefined) {
    try {
      stateReason(visit, requireReason(textOf(form, FIELD)));
    } catch (error) {
      return { page: repeatedForm(visit, problemOf(error)) };
    }
  }
  try {
    return await answer();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'reason_required') throw error;
    if (route.method === 'post') return { page: repeatedForm(visit) };
    // What was typed before the session ended is filled in once the page is shown.
    if (session) Object.assign(session, { typedForm, notices });
    return { redirect: reasonPath(visit.workspace, shownPage(req, route)) };
  }
}

function repeatedForm(visit: Visit, refusal?: Refusal): Page {
  const { req, form, csrf, workspace } = visit;
  return {
    title: REASON_TITLE,
    status: refusal?.status ?? 403,
    error: reasonRequired(),
    body: html`<h1>${REASON_TITLE}</h1>
<p>${REASON_TEXT}</p>
${formError(refusal)}
<form method="post" action="${req.originalUrl}">${csrf}
${repeatedFields(visit, FIELD)}
${reasonField(textOf(form, FIELD), refusal?.details[0]?.message)}
<div class="actions"><button type="submit">Continue</button>
<a role="button" class="outline secondary" href="/dashboard/workspaces/${workspace}">Cancel</a></div>
</form>`,
  };
}

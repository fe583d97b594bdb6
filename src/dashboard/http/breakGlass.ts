import { isDeepStrictEqual } from 'node:util';
import type { KeyDirectory } from '../../modules/auth/keyDirectory.ts';
import { ServiceError } from '../../platform/errors.ts';
import { formError, input } from '../components/forms.ts';
import { titleOf } from '../components/labels.ts';
import { type DashboardRoute, html, type Page, type Refusal, type Visit } from '../components/page.ts';
import { kindOf } from '../components/recordTable.ts';
import { code as codeText } from '../components/text.ts';

/** How long a record stays open, in milliseconds. */
const OPEN_MS = 30 * 60_000;

/** The place of a record in the paths of its pages. */
interface RecordPlace {
  workspace: string;
  /** The plural of its kind. */
  kinds: string | undefined;
  id: string;
}

declare module 'express-session' {
  interface SessionData {
    /** The record that the user opened with a reason, and until when, in milliseconds since 1970. */
    openedRecord?: RecordPlace & { until: number };
  }
}

type Directory = Pick<KeyDirectory, 'known'>;

function placeOf({ req, workspace }: Visit): RecordPlace {
  return { workspace, kinds: /\/records\/([a-z]+)\//.exec(req.path)?.[1], id: String(req.params.id) };
}

/** Whether a workspace allows that users without the right for a record open it with a reason. */
export function allowsBreakGlass({ known }: Directory, workspace: string): boolean {
  const { state, breakGlass } = known.workspaces.get(workspace) ?? {};
  return state === 'active' && breakGlass === 'allow';
}

/**
 * Opens the record in the path for the user's session, in the place of any other, once `record` has resolved: it records that,
 * and until when (ISO 8601). Returns that time.
 */
export async function openRecord(visit: Visit, record: (until: string) => Promise<unknown>): Promise<string> {
  const until = new Date(Date.now() + OPEN_MS).toISOString();
  await record(until);
  visit.req.session.openedRecord = { ...placeOf(visit), until: Date.parse(until) };
  return until;
}

/** Whether a page is one of the record that the user opened with a reason, and the workspace still allows that. */
export function isOpened(directory: Directory, visit: Visit, route: DashboardRoute): boolean {
  if (!mayBreakGlass(directory, visit, route)) return false;
  const { until = 0, ...opened } = visit.req.session.openedRecord ?? {};
  return Date.now() <= until && isDeepStrictEqual(opened, placeOf(visit));
}

/** Whether the user may open with a reason what the role does not open. */
export function mayBreakGlass(directory: Directory, visit: Visit, route: DashboardRoute): boolean {
  return (
    route.opensWithReason === true && visit.role !== undefined && allowsBreakGlass(directory, visit.workspace)
  );
}

/** Returns the page that refuses a record and asks for a reason to open it; `refusal` is what was wrong with the last one. */
export function breakGlassPage(visit: Visit, { code, message }: ServiceError, refusal?: Refusal): Page {
  const { workspace, csrf } = visit;
  const { kinds, id } = placeOf(visit);
  const path = `/dashboard/workspaces/${workspace}/records/${kinds}/${encodeURIComponent(id)}/break-glass`;
  return {
    title: 'Open this record with a reason?',
    help: ['Only for emergencies.', 'guides/dashboard', 'break-glass'],
    status: refusal?.status ?? 403,
    error: new ServiceError(code, message),
    body: html`<h1>Open this record with a reason?</h1>
<p class="record-facts"><span>${titleOf(kindOf(kinds).kind)}</span> <span>ID ${codeText(id)}</span></p>
<p>${message} In an emergency, you can open this one record for ${OPEN_MS / 60_000} minutes: the audit trail keeps your name and reason, and those responsible for the workspace are notified.</p>
${formError(refusal)}
<form method="post" action="${path}">${csrf}
${input({
  ...{ name: 'reason', label: 'Reason', isRequired: true, autocomplete: 'off' },
  error: refusal?.details[0]?.message,
  hint: 'For example, “on call in the emergency room”. Do not identify the patient: the reason is kept permanently.',
})}
<div class="actions"><button type="submit" class="danger">Open record</button>
<a role="button" class="outline secondary" href="/dashboard">Cancel</a></div>
</form>`,
  };
}

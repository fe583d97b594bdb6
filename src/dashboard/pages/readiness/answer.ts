import { answerSchema } from '../../../api/routes/readinessAnswers.ts';
import { pathId } from '../../../api/schemas/parameters.ts';
import type { FindingAnswered } from '../../../domain/events/readinessEvents.ts';
import { catalogEntry } from '../../../domain/records/catalog.ts';
import { encounter } from '../../../domain/records/kinds/encounter.ts';
import { validate, validationError } from '../../../domain/records/schema/validation.ts';
import { readinessAccess } from '../../../modules/audit/accesses.ts';
import { recordAccess } from '../../../modules/audit/recordAccess.ts';
import type { UserDirectory } from '../../../modules/auth/users.ts';
import { answerFinding, problemsOf } from '../../../modules/readiness/answerCommands.ts';
import { answerCause, type CauseAnswer } from '../../../modules/readiness/causeAnswers.ts';
import { type Readiness, readReadiness } from '../../../modules/readiness/queries.ts';
import type { CausedFinding } from '../../../modules/readiness/replay.ts';
import { answerKey, answerPrincipals } from '../../../modules/readiness/rules/answers.ts';
import type { QueryPorts } from '../../../modules/records/queries/records.ts';
import type { FieldMessage } from '../../../platform/errors.ts';
import { answerList } from '../../components/answers.ts';
import { defectText } from '../../components/defects.ts';
import { formError, type InputField, input, messageOf } from '../../components/forms.ts';
import { fieldLabel } from '../../components/labels.ts';
import {
  type DashboardRoute,
  forReader,
  type Html,
  html,
  type Page,
  problemOf,
  type Refusal,
  type Reply,
  recordReaders,
  textOf,
  type Visit,
  viewerPreferences,
} from '../../components/page.ts';
import { userSuggestions } from '../../components/people.ts';
import { textsOf } from '../../components/recordTable.ts';
import { definitionList } from '../../components/tables.ts';
import { bdi, code, empty } from '../../components/text.ts';
import { answerPath, readinessSection, recordPath, worklistPath } from '../../components/urls.ts';
import { type ErasedPorts, orErased, readNames } from '../records/shared.ts';
import { analysisCrumbs } from './scorecard.ts';

interface AnswerPorts extends QueryPorts, ErasedPorts {
  users: UserDirectory;
}

/**
 * What is answered: what a rule finds in a record; `list`: the query of the worklist from which the page was opened; `after`: where
 * an answer to all encounters continues.
 */
const parameters = ['rule', 'kind', 'record_id', 'list', 'after'] as const;

/** Encounters answered by one form: beyond this the page asks again. */
const MOST_ANSWERED = 500;

/**
 * `…/records/encounters/{id}/readiness/answer`: accepts a finding, snoozes, assigns or notes it. As with changes made after
 * billing, anyone who may see a finding may answer it; nothing is written to the records.
 */
export function answerRoutes(ports: AnswerPorts): DashboardRoute[] {
  const path = '/workspaces/:workspace/records/encounters/:id/readiness/answer';
  const route = { path, roles: recordReaders, query: parameters };
  return [
    orErased(ports, {
      ...{ ...route, method: 'get' },
      handle: async (visit) => ({ page: await answerPage(ports, visit) }),
    }),
    orErased(ports, { ...{ ...route, method: 'post' }, handle: (visit) => answer(ports, visit) }),
  ];
}

/** Returns the finding that an address names, as far as the rule still finds anything there. */
function findingsOf({ findings }: Readiness, { req }: Visit): CausedFinding[] {
  const { rule, kind, record_id: id } = textsOf(req);
  return findings.filter(
    ({ rule: { code }, record }) => code === rule && record.kind === kind && record.id === id,
  );
}

/** Returns where the page was opened from, below `/dashboard`. */
function backPath({ workspace, req }: Visit, encounterId: string): string {
  const { list } = textsOf(req);
  if (list === undefined) return recordPath(workspace, encounter.kind, encounterId);
  const limits = Object.fromEntries(new URLSearchParams(list));
  return `${worklistPath(workspace, limits).replace(/^\/dashboard/, '')}#list`;
}

async function answerPage(ports: AnswerPorts, visit: Visit, refusal?: Refusal): Promise<Page> {
  const { workspace, caller, req } = visit;
  const id = pathId(req, 'id', encounter.title);
  const readiness = await readReadiness(ports, workspace, id, undefined);
  const found = findingsOf(readiness, visit);
  const [finding] = found;
  const named = [{ kind: encounter.kind, id }, ...(finding ? [finding.record] : [])];
  const [{ names, accesses }] = await Promise.all([
    readNames(ports, workspace, named),
    ports.names.learn(answerPrincipals(readiness.facts.answers)),
  ]);
  await recordAccess(ports.eventLog, caller, readinessAccess(readiness, undefined), ...accesses);
  const title = finding ? `Answer: ${defectText(finding.rule.code, readiness.settings)}` : 'Answer a finding';
  const isOwn = finding?.record.kind === encounter.kind && finding.record.id === id;
  const called = (kind: string, recordId: string) =>
    html`<a href="/dashboard${recordPath(workspace, kind, recordId)}">${bdi(names?.nameOf(kind, recordId) ?? recordId)}</a> ${code(recordId)}`;
  const back = html`<p><a href="/dashboard${backPath(visit, id)}">Back, without an answer</a></p>`;
  const body =
    finding === undefined
      ? html`${analysisCrumbs(workspace)}
<h1>${title}</h1>
${formError(refusal)}
${empty('The rule no longer finds anything there.')}
${back}`
      : html`${analysisCrumbs(workspace)}
<h1>${title}</h1>
<p>${finding.text}</p>
${definitionList([
  [catalogEntry(finding.record.kind).title, called(finding.record.kind, finding.record.id)],
  ['Fields', found.map(({ field }) => fieldLabel(field)).join('; ')],
  ...(isOwn ? [] : [['Encounter', called(encounter.kind, id)] as const]),
])}
${answerList(readiness.facts.answers?.get(answerKey(finding.rule.code, finding.record)), finding.answer, readiness.at, ports.names)}
${formError(refusal)}
${answerForms(visit, finding, userSuggestions(ports.users, workspace), refusal?.details)}
<p class="muted">An answer is for this encounter, or for all that have the finding now; encounters that come later are not answered. Accepted and snoozed findings return when the last day is over, or the ${finding.record.kind} changes.</p>
${back}`;
  return { title, section: readinessSection, body, ...(refusal && { status: refusal.status }) };
}

/** The name of the last day in the form that snoozes; both are on one page. */
const SNOOZED_UNTIL = 'snoozed_until';

function answerForms(
  { csrf, user, req }: Visit,
  { record, answer }: CausedFinding,
  users: InputField['suggestions'],
  details?: readonly FieldMessage[],
): Html {
  // What is wrong in an encounter is its own.
  const isShared = record.kind !== encounter.kind;
  const isContinued = textsOf(req).after !== undefined;
  const form = (of: FindingAnswered['answer'], title: string, button: string, fields?: Html) =>
    html`<form method="post" class="card">${csrf}
<input type="hidden" name="version" value="${record.version}">
<h2>${title}</h2>
${fields}
${isShared && html`<label class="choice"><input type="checkbox" name="all"${isContinued && html` checked`}> In all encounters with this defect of the ${record.kind}</label>`}
<div class="actions"><button type="submit" name="answer" value="${of}"${of !== 'accepted' && html` class="outline"`}>${button}</button></div>
</form>`;
  const field = (name: string, label: string, more: Partial<Parameters<typeof input>[0]> = {}) =>
    input({ name, label, autocomplete: 'off', error: messageOf(details, name), ...more });
  const day = { type: 'date', isRequired: true } as const;
  const canReopen = answer?.acceptedUntil !== undefined || answer?.snoozedUntil !== undefined;
  return html`<div class="answers">
${form(
  'accepted',
  'Accept: it no longer blocks',
  'Accept',
  html`${field('reason', 'Reason', { isRequired: true, hint: 'Erased with the encounter.' })}${field('until', 'Last day', day)}`,
)}
${form('snoozed', 'Snooze: not now', 'Snooze', field(SNOOZED_UNTIL, 'Last day', day))}
${form(
  'assigned',
  'Assign: somebody deals with it',
  'Assign',
  field('assigned_to', 'Assigned to', {
    hint: 'A name; empty for nobody.',
    suggestions: users,
    value: answer?.assignedTo ?? user.name,
  }),
)}
${form('noted', 'Note: what others should know', 'Add note', field('note', 'Note', { isRequired: true }))}
${canReopen && form('reopened', 'Reopen: neither accepted nor snoozed', 'Reopen')}
</div>`;
}

const noticeTexts: Record<FindingAnswered['answer'], string> = {
  accepted: 'The finding was accepted.',
  snoozed: 'The finding was snoozed.',
  assigned: 'The finding was assigned.',
  noted: 'The note was added.',
  reopened: 'The finding was reopened.',
};

/** Returns the answer that a form asks for. Throws `validation_failed`. */
function answerSent({ form, req }: Visit): CauseAnswer {
  const { rule, kind = '', record_id: id = '' } = textsOf(req);
  const record = { kind, id };
  const sent = (name: string) => textOf(form, name) || undefined;
  const isAssigned = form.answer === 'assigned';
  const given = validate(answerSchema, {
    ...{ rule, record, answer: form.answer, version: Number(form.version) },
    ...{ reason: sent('reason'), note: sent('note'), until: sent('until') ?? sent(SNOOZED_UNTIL) },
    ...(isAssigned && { assigned_to: sent('assigned_to') ?? null }),
  });
  const problems = problemsOf(given);
  if (problems.length > 0) throw validationError(problems);
  return { ...given, record };
}

/** Answers the next encounters that have the finding; where others remain, the page continues with them. */
async function answerAll(ports: AnswerPorts, visit: Visit, given: CauseAnswer): Promise<Reply> {
  const { caller, notice, req, workspace } = visit;
  const id = pathId(req, 'id', encounter.title);
  const { after, list } = textsOf(req);
  let answered = 0;
  let pageToken: string | null | undefined = after;
  while (pageToken !== null && answered < MOST_ANSWERED) {
    const page = { limit: MOST_ANSWERED, pageToken };
    const { updated, unchanged, next_page_token } = await answerCause(ports, caller, {}, given, page);
    answered += updated + unchanged;
    pageToken = next_page_token;
  }
  const text = `${noticeTexts[given.answer]} Encounters: ${answered.toLocaleString('en-US')}.`;
  if (pageToken === null) {
    notice(text);
    return { redirect: backPath(visit, id) };
  }
  notice(`${text} Others remain: answer again to continue.`);
  const { rule, record } = given;
  return { redirect: answerPath(workspace, id, { rule, ...record }, { list, after: pageToken }) };
}

async function answer(ports: AnswerPorts, visit: Visit): Promise<Reply> {
  const { caller, form, notice, req } = visit;
  const id = pathId(req, 'id', encounter.title);
  try {
    const given = answerSent(visit);
    if (form.all === 'on') return await answerAll(ports, visit, given);
    await answerFinding(ports, caller, id, given);
    notice(noticeTexts[given.answer]);
  } catch (error) {
    const refusal = problemOf(error);
    const isSnoozed = form.answer === 'snoozed';
    const details = refusal.details.map(({ field, message }) => ({
      field: isSnoozed && field === 'until' ? SNOOZED_UNTIL : field,
      message,
    }));
    // What was typed stays in the fields.
    return forReader({ ...viewerPreferences(), typed: form }, async () => ({
      page: await answerPage(ports, visit, { ...refusal, details }),
    }));
  }
  return { redirect: backPath(visit, id) };
}

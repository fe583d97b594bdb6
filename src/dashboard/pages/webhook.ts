import { attemptFilter, attemptsQuerySchema, pageRequest } from '../../api/schemas/parameters.ts';
import { subjectKinds } from '../../domain/records/catalog.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import { recordFurtherAccess } from '../../modules/audit/recordAccess.ts';
import { eventTitle } from '../../modules/eventStream/asyncapi.ts';
import type { RecordNames } from '../../modules/records/queries/lists.ts';
import type { Page as ListPage } from '../../modules/records/queries/paging.ts';
import type { QueryPorts } from '../../modules/records/queries/records.ts';
import {
  ATTEMPT_RETENTION_DAYS,
  attemptOutcomes,
  type DeliveryAttempt,
} from '../../modules/webhooks/attempts.ts';
import type { WebhookManager, WebhookStatusView, WebhookView } from '../../modules/webhooks/manager.ts';
import { filterForm, input, messageOf, purposeTexts, select } from '../components/forms.ts';
import { titleOf, wordsOf } from '../components/labels.ts';
import {
  type DashboardRoute,
  type Html,
  html,
  integrators,
  type Page,
  problemOf,
  type Refusal,
  recordReaders,
  type Visit,
} from '../components/page.ts';
import { pageLinks } from '../components/paging.ts';
import { who } from '../components/people.ts';
import { filledQuery, textsOf } from '../components/recordTable.ts';
import { definitionList, table } from '../components/tables.ts';
import { badge, bdi, code, empty, idBeside, time, timeAgo } from '../components/text.ts';
import {
  documentsPath,
  recordPath,
  webhookCaller,
  webhookId,
  webhookPath,
  webhooksSection,
} from '../components/urls.ts';
import { readNames } from './records/shared.ts';
import { payloads, webhookActions } from './webhookForm.ts';
import { hostOf, pausedNote, pendingText, webhookCrumbs, webhookState } from './webhooks.ts';

/** The query parameters of a page with attempts. */
const attemptParameters: readonly string[] = Object.keys(attemptsQuerySchema.shape);

const ATTEMPTS_A_PAGE = 25;

/** A page of attempts, and what it was limited to, as sent; or why it was refused. */
interface Attempts extends ListPage<DeliveryAttempt> {
  limits: Record<string, string>;
  refusal?: Refusal;
  /** Of what the messages are about; only for who may read records. */
  names?: RecordNames | undefined;
}

/** Resolves with the attempts of a webhook that a visit asks for. */
async function webhookAttempts(ports: WebhookPagePorts, visit: Visit): Promise<Attempts> {
  const req = { query: filledQuery(visit.req) };
  const { page_token: _token, ...limits } = textsOf(req);
  try {
    const [request, only] = [pageRequest(req), attemptFilter(req)];
    const limit = req.query.limit === undefined ? ATTEMPTS_A_PAGE : request.limit;
    const page = await ports.webhooks.attempts(
      webhookCaller(visit),
      webhookId(visit),
      { ...request, limit },
      only,
    );
    return { ...page, limits, names: await namesIn(ports, visit, page.items) };
  } catch (error) {
    return { items: [], next_page_token: null, limits, refusal: problemOf(error) };
  }
}

/** Resolves with the names of the records that messages are about, once the audit trail has that they were shown. */
async function namesIn(
  ports: WebhookPagePorts,
  { may, workspace, caller }: Visit,
  items: readonly DeliveryAttempt[],
): Promise<RecordNames | undefined> {
  if (!may(recordReaders)) return undefined;
  const { names, accesses } = await readNames(ports, workspace, recordsOf(items));
  // The look at the attempts has the id of the request.
  for (const access of accesses) await recordFurtherAccess(ports.eventLog, caller, access);
  return names;
}

function recordsOf(items: readonly DeliveryAttempt[]): { kind: string; id: string }[] {
  return items.flatMap(({ kind, record_id: id }) =>
    kind === undefined || id === undefined ? [] : [{ kind: kind === 'document' ? encounter.kind : kind, id }],
  );
}

/** Returns the part of a webhook's page that shows them. */
function attemptsSection(visit: Visit, view: WebhookView, attempts: Attempts): Html {
  const { items, limits, refusal, next_page_token: next } = attempts;
  const path = `/dashboard${webhookPath(visit.workspace, view.id)}`;
  const isLimited = Object.keys(limits).length > 0;
  const nothing =
    isLimited || next !== null
      ? html`No attempts on this page match. <a href="${path}#attempts">Show all attempts</a>`
      : 'Nothing has been sent yet. Send a ping to test the endpoint: messages follow with the next change of a record.';
  return html`<h2 id="attempts">Attempts</h2>
<p class="muted">Delivery attempts in the last ${ATTEMPT_RETENTION_DAYS} days, newest first.</p>
${attemptsForm(path, limits, refusal)}
${items.length === 0 ? !refusal && empty(nothing) : attemptTable(visit, path, view, attempts)}
${pageLinks(visit.req, { token: next, part: 'attempts' })}`;
}

function attemptsForm(path: string, sent: Record<string, string>, refusal: Refusal | undefined): Html {
  const choice = (name: string, label: string, anyText: string, values: readonly string[]) =>
    select({
      name,
      label,
      value: sent[name] ?? '',
      options: [{ value: '', text: anyText }, ...values.map((value) => ({ value, text: titleOf(value) }))],
      error: messageOf(refusal?.details, name),
    });
  const id = (name: string, label: string) =>
    input({ name, label, type: 'search', value: sent[name], error: messageOf(refusal?.details, name) });
  return filterForm({
    path: `${path}#attempts`,
    limits: sent,
    refusal,
    fields: html`${choice('outcome', 'Outcome', 'Any outcome', attemptOutcomes)}
${choice('kind', 'Kind', 'Any kind', subjectKinds)}
${id('record_id', 'Record ID')}
${id('document_id', 'Document ID')}`,
  });
}

const tones = { delivered: 'good', retrying: 'neutral', failed: 'bad' } as const;

function attemptTable(
  { csrf, workspace }: Visit,
  path: string,
  { state }: WebhookView,
  { items, names }: Attempts,
): Html {
  return html`<div class="dense flowing">${table(
    'Attempts',
    [
      { title: 'Time', cell: ({ at }) => time(at) },
      {
        title: 'Message',
        ...{ isHeader: true, isCut: true },
        cell: ({ message_id, type }) =>
          html`<span title="${type} ${message_id}">${eventTitle({ type })}</span> ${idBeside(message_id)}`,
      },
      {
        ...{ title: 'Record', isCut: true },
        cell: (attempt) => recordCell(workspace, attempt, names),
      },
      {
        title: 'Outcome',
        cell: ({ outcome, next_attempt_at: next }) =>
          html`<span class="nowrap">${badge(outcome, tones[outcome])}${next !== undefined && Date.parse(next) > Date.now() && html` ${timeAgo(next)}`}</span>`,
      },
      { title: 'Response', cell: answerOf },
      { title: 'Attempt', isNumber: true, cell: ({ attempt }) => (attempt === 0 ? 'ping' : attempt) },
      {
        title: 'Duration',
        isNumber: true,
        cell: ({ duration_ms }) => html`<span class="nowrap">${duration_ms} ms</span>`,
      },
      {
        title: 'Actions',
        isTitleHidden: true,
        cell: ({ attempt, message_id }) =>
          attempt > 0 &&
          state === 'enabled' &&
          html`<form method="post" action="${path}/replay" class="actions">${csrf}<input type="hidden" name="what" value="message"><input type="hidden" name="message_id" value="${message_id}"><button type="submit" class="outline" aria-label="Send again ${message_id}">Send again</button></form>`,
      },
    ],
    items,
  )}</div>`;
}

/** Returns a link to the record or document that a message is about; a ping is about none. */
function recordCell(workspace: string, attempt: DeliveryAttempt, names: RecordNames | undefined): Html {
  const { kind, record_id: id, document_id: documentId, version } = attempt;
  if (kind === undefined || id === undefined) return html``;
  const path =
    kind === 'document' ? documentsPath(workspace, id, documentId) : recordPath(workspace, kind, id);
  const name = names?.nameOf(kind === 'document' ? encounter.kind : kind, id);
  const beside = [name === undefined ? undefined : id, documentId].filter((one) => one !== undefined);
  return html`${titleOf(kind)} <a href="/dashboard${path}" title="${id}">${bdi(name ?? id)}</a>${version !== undefined && html` <small class="muted">version ${version}</small>`} ${beside.map(idBeside)}`;
}

function answerOf({ status, error, answer }: DeliveryAttempt): Html {
  const word = html`${status ?? ''}${error && html` ${wordsOf(error)}`}`;
  if (answer === undefined || answer === '') return word;
  return html`<details class="entry"><summary>${word}</summary><pre tabindex="0">${answer}</pre></details>`;
}

interface WebhookPagePorts extends QueryPorts {
  webhooks: WebhookManager;
}

/** The page of one webhook: settings, delivery status, attempts. */
export function webhookPageRoutes(ports: WebhookPagePorts): DashboardRoute[] {
  const { webhooks } = ports;
  return [
    {
      method: 'get',
      path: '/workspaces/:workspace/webhooks/:id',
      roles: integrators,
      query: attemptParameters,
      async handle(visit) {
        const [view] = await webhooks.views([await webhooks.find(webhookCaller(visit), webhookId(visit))]);
        const attempts = await webhookAttempts(ports, visit);
        return { page: webhookPage(visit, view as WebhookStatusView, attempts, pausedNote(webhooks, visit)) };
      },
    },
  ];
}

function webhookPage(
  visit: Visit,
  view: WebhookStatusView,
  attempts: Attempts,
  paused: Html | undefined,
): Page {
  const { workspace } = visit;
  return {
    title: 'Webhook',
    section: webhooksSection,
    body: html`${webhookCrumbs(workspace)}
<div class="page-head"><h1>Webhook to ${bdi(hostOf(view))}</h1>
${webhookActions(workspace, view)}</div>
${paused}
<p>${webhookState(view)}</p>
<div class="record-columns"><section><h2>Delivery</h2>
${definitionList(deliveryFacts(view))}</section>
<section><h2>Settings</h2>
${definitionList(settingFacts(view))}</section></div>
${attemptsSection(visit, view, attempts)}`,
    ...(attempts.refusal && { status: attempts.refusal.status }),
  };
}

function deliveryFacts(view: WebhookStatusView): (readonly [string, Html | string | number])[] {
  const { delivery, previous_secret_expires_at: until } = view;
  const { last_success_at: at } = delivery;
  return [
    ['Last success', at === null ? 'never' : timeAgo(at)],
    ['Waiting messages', pendingText(delivery)],
    ['Records waiting for a retry', delivery.blocked.toLocaleString('en-US')],
    ['Messages given up', delivery.failed.toLocaleString('en-US')],
    ...(until === null ? [] : [['Previous secret expires', time(until)] as const]),
    ['Created', html`${time(view.created_at)} by ${who(view.created_by)}`],
    ['Last change', time(view.updated_at)],
    ['ID', code(view.id)],
  ];
}

function settingFacts(view: WebhookStatusView): (readonly [string, Html | string])[] {
  const recipient = view.recipient === null ? 'not given' : bdi(view.recipient);
  return [
    ['URL', bdi(view.url)],
    ...(view.description === null ? [] : [['Description', bdi(view.description)] as const]),
    ['Payload', payloads[view.payload]],
    ['Kinds', view.kinds?.map(titleOf).join(', ') ?? 'All'],
    ['Types', view.types?.map((type) => eventTitle({ type })).join(', ') ?? 'All'],
    ['Events that changed no field', view.unchanged === 'skip' ? 'Not sent' : 'Sent'],
    ['Recipient', recipient],
    ...(view.recipient_address === null ? [] : [['Recipient address', bdi(view.recipient_address)] as const]),
    [
      'Purpose',
      html`${view.purpose === null ? 'not given' : purposeTexts[view.purpose]}${view.purpose_statement && html`: ${bdi(view.purpose_statement)}`}`,
    ],
  ];
}

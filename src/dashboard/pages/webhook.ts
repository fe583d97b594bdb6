import { attemptFilter, attemptsQuerySchema, pageRequest } from '../../api/schemas/parameters.ts';
import { subjectKinds } from '../../domain/records/catalog.ts';
import type { Page as ListPage } from '../../modules/records/queries/paging.ts';
import {
  ATTEMPT_RETENTION_DAYS,
  attemptOutcomes,
  type DeliveryAttempt,
} from '../../modules/webhooks/attempts.ts';
import type { WebhookManager, WebhookStatusView, WebhookView } from '../../modules/webhooks/manager.ts';
import { filterForm, input, messageOf, select } from '../components/forms.ts';
import {
  type DashboardRoute,
  type Html,
  html,
  integrators,
  type Page,
  problemOf,
  type Refusal,
  type Visit,
} from '../components/page.ts';
import { who } from '../components/people.ts';
import { definitionList } from '../components/records.ts';
import { filledQuery, textsOf } from '../components/recordTable.ts';
import { table } from '../components/tables.ts';
import { badge, code, empty, time, timeAgo, titleOf, wordsOf } from '../components/text.ts';
import {
  documentsPath,
  recordPath,
  webhookCaller,
  webhookId,
  webhookPath,
  webhooksSection,
} from '../components/urls.ts';
import { webhookActions } from './webhookForm.ts';
import { pausedNote, pendingText, webhookState } from './webhooks.ts';

/** The query parameters of a page with attempts. */
const attemptParameters: readonly string[] = Object.keys(attemptsQuerySchema.shape);

/** A page of attempts, and what it was limited to, as sent; or why it was refused. */
interface Attempts extends ListPage<DeliveryAttempt> {
  limits: Record<string, string>;
  refusal?: Refusal;
}

/** Resolves with the attempts of a webhook that a visit asks for. */
async function webhookAttempts(webhooks: WebhookManager, visit: Visit): Promise<Attempts> {
  const req = { query: filledQuery(visit.req) };
  const { page_token: _token, ...limits } = textsOf(req);
  try {
    const [request, only] = [pageRequest(req), attemptFilter(req)];
    return { ...(await webhooks.attempts(webhookCaller(visit), webhookId(visit), request, only)), limits };
  } catch (error) {
    return { items: [], next_page_token: null, limits, refusal: problemOf(error) };
  }
}

/** Returns the part of a webhook's page that shows them. */
function attemptsSection(visit: Visit, view: WebhookView, attempts: Attempts): Html {
  const { items, limits, refusal, next_page_token: next } = attempts;
  const path = `/dashboard${webhookPath(visit.workspace, view.id)}`;
  const older = new URLSearchParams({ ...limits, page_token: next ?? '' });
  const isLimited = Object.keys(limits).length > 0;
  const nothing =
    isLimited || next !== null
      ? html`No attempts on this page match. <a href="${path}#attempts">Show all attempts</a>`
      : 'Nothing has been sent yet. Send a ping to test the endpoint: messages follow with the next change of a record.';
  return html`<h2 id="attempts">Attempts</h2>
<p class="muted">Delivery attempts in the last ${ATTEMPT_RETENTION_DAYS} days, newest first.</p>
${attemptsForm(path, limits, refusal)}
${items.length === 0 ? !refusal && empty(nothing) : attemptTable(visit, path, view, items)}
<p class="actions">${visit.req.query.page_token !== undefined && html`<a href="${path}?${new URLSearchParams(limits).toString()}#attempts">Newest</a>`}
${next !== null && html`<a href="${path}?${older.toString()}#attempts">Older attempts</a>`}</p>`;
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
  return filterForm(
    `${path}#attempts`,
    html`${choice('outcome', 'Outcome', 'Any outcome', attemptOutcomes)}
${choice('kind', 'Kind', 'Any kind', subjectKinds)}
${id('record_id', 'Record ID')}
${id('document_id', 'Document ID')}`,
  );
}

const tones = { delivered: 'good', retrying: 'neutral', failed: 'bad' } as const;

function attemptTable(
  { csrf, workspace }: Visit,
  path: string,
  { state }: WebhookView,
  items: DeliveryAttempt[],
): Html {
  return table(
    'Attempts',
    [
      { title: 'Time', cell: ({ at }) => time(at) },
      {
        title: 'Message',
        isHeader: true,
        cell: ({ message_id, type }) => html`<span class="nowrap">${code(message_id)}<br>${type}</span>`,
      },
      {
        title: 'Record',
        cell: (attempt) => recordCell(workspace, attempt),
      },
      {
        title: 'Attempt',
        cell: ({ attempt }) => html`<span class="nowrap">${attempt === 0 ? 'ping' : attempt}</span>`,
      },
      {
        title: 'Outcome',
        cell: ({ outcome, next_attempt_at: next }) =>
          html`${badge(outcome, tones[outcome])}${next !== undefined && html`<br>next ${timeAgo(next)}`}`,
      },
      { title: 'Response', cell: answerOf },
      { title: 'Duration', cell: ({ duration_ms }) => html`<span class="nowrap">${duration_ms} ms</span>` },
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
  );
}

/** Returns a link to the record or document that a message is about; a ping is about none. */
function recordCell(workspace: string, attempt: DeliveryAttempt): Html {
  const { kind, record_id: id, document_id: documentId, version } = attempt;
  if (kind === undefined || id === undefined) return html``;
  const path =
    kind === 'document' ? documentsPath(workspace, id, documentId) : recordPath(workspace, kind, id);
  const ids = [id, documentId].filter(Boolean).join(' / ');
  return html`${kind} <a href="/dashboard${path}">${code(ids)}</a>${version !== undefined && html`<br>version ${version}`}`;
}

function answerOf({ status, error, answer }: DeliveryAttempt): Html {
  const word = html`${status ?? ''}${error && html` ${wordsOf(error)}`}`;
  if (answer === undefined || answer === '') return word;
  return html`<details><summary>${word}</summary><pre tabindex="0">${answer}</pre></details>`;
}

/** The page of one webhook: settings, delivery status, attempts. */
export function webhookPageRoutes({ webhooks }: { webhooks: WebhookManager }): DashboardRoute[] {
  return [
    {
      method: 'get',
      path: '/workspaces/:workspace/webhooks/:id',
      roles: integrators,
      query: attemptParameters,
      async handle(visit) {
        const [view] = await webhooks.views([await webhooks.find(webhookCaller(visit), webhookId(visit))]);
        const attempts = await webhookAttempts(webhooks, visit);
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
    body: html`<h1>Webhook</h1>
${paused}
${webhookActions(workspace, view.id, view.state)}
${definitionList(factsOf(view))}
${attemptsSection(visit, view, attempts)}`,
    ...(attempts.refusal && { status: attempts.refusal.status }),
  };
}

function factsOf(view: WebhookStatusView): (readonly [string, Html | string | number])[] {
  const { delivery, previous_secret_expires_at: until } = view;
  const moment = (at: string | null) => (at === null ? 'never' : timeAgo(at));
  return [
    ['URL', html`<strong>${view.url}</strong>`],
    ['State', webhookState(view)],
    ...(view.description === null ? [] : [['Description', view.description] as const]),
    ['ID', code(view.id)],
    ['Payload', view.payload],
    ['Events that changed no field', view.unchanged === 'skip' ? 'not sent' : 'sent'],
    ['Kinds', view.kinds?.join(', ') ?? 'all'],
    ['Types', view.types?.join(', ') ?? 'all'],
    ['Recipient', view.recipient ?? 'not given'],
    ...(view.recipient_address === null ? [] : [['Recipient address', view.recipient_address] as const]),
    [
      'Purpose',
      html`${view.purpose ?? 'not given'}${view.purpose_statement && html`: ${view.purpose_statement}`}`,
    ],
    ['Created', html`${time(view.created_at)} by ${who(view.created_by)}`],
    ['Last change', time(view.updated_at)],
    ...(until === null ? [] : [['Previous secret expires', time(until)] as const]),
    ['Last success', moment(delivery.last_success_at)],
    ['Waiting messages', pendingText(delivery)],
    ['Records waiting for a retry', delivery.blocked],
    ['Messages given up', delivery.failed],
  ];
}

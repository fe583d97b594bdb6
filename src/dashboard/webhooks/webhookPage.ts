import { pageRequest } from '../../http/endpoints/parameters.ts';
import type { Page as ListPage } from '../../reads/page.ts';
import { ATTEMPTS_KEPT_DAYS, type DeliveryAttempt } from '../../webhooks/delivery/attempts.ts';
import type { WebhookManager } from '../../webhooks/settings/WebhookManager.ts';
import type { WebhookStatusView } from '../../webhooks/settings/webhookView.ts';
import { pageParameters } from '../records/recordQuery.ts';
import { type Html, html } from '../shell/html.ts';
import { admins, type DashboardRoute, type Page, type Visit } from '../shell/route.ts';
import { facts } from '../ui/facts.ts';
import { who } from '../ui/principal.ts';
import { table } from '../ui/table.ts';
import { badge, code, empty, time, timeAgo } from '../ui/text.ts';
import { webhookActions } from './webhookChanges.ts';
import { webhookCaller, webhookId, webhookPath, webhooksSection } from './webhookPaths.ts';
import { pausedNote, pendingText, webhookState } from './webhookState.ts';

/** The page of one webhook: settings, how its delivery does, its attempts. */
export function webhookPageRoutes({ webhooks }: { webhooks: WebhookManager }): DashboardRoute[] {
  return [
    {
      method: 'get',
      path: '/workspaces/:workspace/webhooks/:id',
      roles: admins,
      query: pageParameters,
      async handle(visit) {
        const id = webhookId(visit);
        const caller = webhookCaller(visit);
        const [view] = await webhooks.views([await webhooks.find(caller, id)]);
        const attempts = await webhooks.attempts(caller, id, pageRequest(visit.req));
        const paused = pausedNote(webhooks, visit);
        return { page: webhookPage(visit, view as WebhookStatusView, attempts, paused) };
      },
    },
  ];
}

function webhookPage(
  visit: Visit,
  view: WebhookStatusView,
  attempts: ListPage<DeliveryAttempt>,
  paused: Html | undefined,
): Page {
  const { workspace } = visit;
  const path = `/dashboard${webhookPath(workspace, view.id)}`;
  const { next_page_token: next, items } = attempts;
  return {
    title: 'Webhook',
    section: webhooksSection,
    body: html`<h1>Webhook</h1>
${paused}
${webhookActions(workspace, view.id, view.state)}
${facts(factsOf(view))}
<h2 id="attempts">Attempts</h2>
<p class="muted">The delivery attempts of the last ${ATTEMPTS_KEPT_DAYS} days, newest first.</p>
${items.length === 0 ? empty('Nothing was sent yet.') : attemptTable(visit, path, view.state, items)}
<p class="actions">${visit.req.query.page_token !== undefined && html`<a href="${path}#attempts">Newest</a>`}
${next !== null && html`<a href="${path}?page_token=${encodeURIComponent(next)}#attempts">Older attempts</a>`}</p>`,
  };
}

function factsOf(view: WebhookStatusView): (readonly [string, Html | string | number])[] {
  const { delivery, previous_secret_expires_at: until } = view;
  const moment = (at: string | null) => (at === null ? 'never' : timeAgo(at));
  return [
    ['Address', html`<strong>${view.url}</strong>`],
    ['State', webhookState(view)],
    ...(view.description === null ? [] : [['Description', view.description] as const]),
    ['Id', code(view.id)],
    ['Messages hold', view.payload],
    ['Kinds', view.kinds?.join(', ') ?? 'all'],
    ['Types', view.types?.join(', ') ?? 'all'],
    ['Created', html`${time(view.created_at)} by ${who(view.created_by)}`],
    ['Last change', time(view.updated_at)],
    ...(until === null ? [] : [['Previous secret ends', time(until)] as const]),
    ['Last success', moment(delivery.last_success_at)],
    ['Messages that wait', pendingText(delivery)],
    ['Records that wait for a retry', delivery.blocked],
    ['Messages given up', delivery.failed],
  ];
}

const tones = { delivered: 'good', retrying: 'neutral', failed: 'bad' } as const;

function attemptTable({ csrf }: Visit, path: string, state: string, items: DeliveryAttempt[]): Html {
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
        cell: ({ kind, record_id, document_id, version }) =>
          kind &&
          html`${kind} ${code([record_id, document_id].filter(Boolean).join(' / '))}<br>version ${version}`,
      },
      {
        title: 'Try',
        cell: ({ attempt }) => html`<span class="nowrap">${attempt === 0 ? 'ping' : attempt}</span>`,
      },
      {
        title: 'Outcome',
        cell: ({ outcome, next_attempt_at: next }) =>
          html`${badge(outcome, tones[outcome])}${next !== undefined && html`<br>again ${timeAgo(next)}`}`,
      },
      { title: 'Answer', cell: answerOf },
      { title: 'Time taken', cell: ({ duration_ms }) => html`<span class="nowrap">${duration_ms} ms</span>` },
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

function answerOf({ status, error, answer }: DeliveryAttempt): Html {
  const word = html`${status ?? ''}${error && html` ${error.replaceAll('_', ' ')}`}`;
  if (answer === undefined || answer === '') return word;
  return html`<details><summary>${word}</summary><pre>${answer}</pre></details>`;
}

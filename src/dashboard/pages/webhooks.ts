import type { Consumer, Consumers } from '../../modules/eventStream/consumers.ts';
import { type ConsumerView, listConsumers, removeConsumer } from '../../modules/webhooks/consumerList.ts';
import type { NewSecret, WebhookManager, WebhookStatusView } from '../../modules/webhooks/manager.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { StateStore } from '../../storage/stateStore.ts';
import { confirmedChange } from '../components/forms.ts';
import { breadcrumb } from '../components/layout.ts';
import {
  type DashboardRoute,
  type Html,
  html,
  integrators,
  type Page,
  type Reply,
  type Visit,
} from '../components/page.ts';
import { table } from '../components/tables.ts';
import { badge, bdi, code, empty, secretOnce, time, timeAgo } from '../components/text.ts';
import {
  consumerRemovalPath,
  webhookCaller,
  webhookId,
  webhookPath,
  webhooksPath,
  webhooksSection,
} from '../components/urls.ts';
import { popFlash, showOnce } from '../http/session.ts';
import { hourStrip, lastDayResults, type WebhookResults } from './overviewFigures.ts';

/** What the page shows of a secret just created. */
interface MadeSecret {
  title: string;
  secret: string;
  /** ISO 8601; null where there is no previous one. */
  previousEnds: string | null;
}

const madePath = (workspace: string, id: string) => `${webhookPath(workspace, id)}/made`;

/** Returns the way to a page about webhooks, or about one of them. */
export function webhookCrumbs(workspace: string, webhook?: { id: string; url: string }): Html {
  return breadcrumb([
    { text: webhooksSection, path: webhooksPath(workspace) },
    ...(webhook ? [{ text: hostOf(webhook), path: webhookPath(workspace, webhook.id) }] : []),
  ]);
}

/** Returns the host to which a webhook sends. */
export function hostOf({ url }: { url: string }): string {
  return new URL(url).host;
}

/** Leads to the page of a secret just created: the only one that ever shows it. */
export function toMadeSecret(visit: Visit, title: string, { webhook, secret }: NewSecret): Reply {
  const made: MadeSecret = { title, secret, previousEnds: webhook.previous_secret_expires_at };
  return showOnce(visit, madePath(visit.workspace, webhook.id), made);
}

/** That page; from the second visit on it leads to the webhook. */
export function webhookSecretRoutes({ webhooks }: { webhooks: WebhookManager }): DashboardRoute[] {
  return [
    {
      method: 'get',
      path: '/workspaces/:workspace/webhooks/:id/made',
      roles: integrators,
      async handle(visit) {
        const { id, url } = await webhooks.find(webhookCaller(visit), webhookId(visit));
        const made = popFlash<MadeSecret>(visit, madePath(visit.workspace, id));
        if (made) return { page: secretPage(visit, { id, url }, made) };
        visit.notice('The secret was shown once. If nobody copied it, rotate it.');
        return { redirect: webhookPath(visit.workspace, id) };
      },
    },
  ];
}

function secretPage(
  { workspace }: Visit,
  { id, url }: { id: string; url: string },
  { title, secret, previousEnds }: MadeSecret,
): Page {
  return {
    title,
    section: webhooksSection,
    body: html`${webhookCrumbs(workspace, { id, url })}
<h1>${title}</h1>
${secretOnce('Signing secret', secret)}
<p><strong>Copy it now: it will not be shown again.</strong> Your endpoint uses it to verify the signature of every message, as Standard Webhooks specifies.</p>
<p>Webhook ${code(id)}, to ${url}.${previousEnds !== null && html` The previous secret also signs until ${time(previousEnds)}.`}</p>
<p><a role="button" class="outline secondary" href="/dashboard${webhookPath(workspace, id)}">Go to webhook</a></p>`,
  };
}

const disabledTexts: Record<string, string> = {
  caller: 'disabled manually',
  key_deleted: 'the API key that created it was deleted',
  gone: 'its endpoint responded 410 Gone',
  failing: 'its endpoint accepted nothing for days',
};

/** Returns a webhook's state, and the reason. */
export function webhookState({ state, disabled_reason, delivery }: WebhookStatusView): Html {
  if (state === 'disabled') {
    return html`${badge('disabled', 'bad')} <span class="nowrap">${disabledTexts[disabled_reason ?? '']}</span>`;
  }
  const { failing_since, problem } = delivery;
  if (problem === 'secret_unreadable') {
    return html`${badge('blocked', 'bad')}<br>its secret cannot be decrypted with the service’s key (WEBHOOK_SECRETS_KEY): rotate the secret`;
  }
  if (failing_since !== null)
    return html`${badge('failing', 'bad')} <span class="nowrap">since ${time(failing_since)}</span>`;
  return badge('enabled', 'good');
}

/** Returns how many messages are waiting, and since when the oldest has been. */
export function pendingText({
  pending,
  pending_is_exact: isExact,
  oldest_pending_at: oldest,
}: Pick<WebhookStatusView['delivery'], 'pending' | 'pending_is_exact' | 'oldest_pending_at'>): Html | string {
  if (pending === 0 || oldest === null) return isExact ? 'none' : 'not counted to the end';
  return html`${isExact ? '' : 'at least '}${pending.toLocaleString('en-US')}, oldest ${timeAgo(oldest)}`;
}

/** Returns a note that nothing is sent while the workspace is deactivated; undefined while it is active. */
export function pausedNote(webhooks: WebhookManager, { workspace }: Visit): Html | undefined {
  if (!webhooks.isDeactivated(workspace)) return undefined;
  return html`<p class="error" role="alert">The workspace is deactivated: nothing is sent until it is activated again.</p>`;
}

/** Settings, Webhooks of a workspace. */
export function webhooksRoutes(ports: {
  webhooks: WebhookManager;
  stateStore: StateStore;
  eventLog: EventLog;
  consumers: Consumers;
}): DashboardRoute[] {
  return [
    {
      method: 'get',
      path: '/workspaces/:workspace/webhooks',
      roles: integrators,
      async handle(visit) {
        const { workspace } = visit;
        const [views, lastDay, named] = await Promise.all([
          ports.webhooks.list(webhookCaller(visit)).then((all) => ports.webhooks.views(all)),
          lastDayResults(ports, workspace),
          listConsumers(ports, { ...webhookCaller(visit), permissions: [] }),
        ]);
        return { page: listPage(workspace, views, lastDay, named, pausedNote(ports.webhooks, visit)) };
      },
    },
    ...consumerRemoval(ports),
  ];
}

function consumerRemoval(ports: { eventLog: EventLog; consumers: Consumers }): DashboardRoute[] {
  return confirmedChange<Consumer>({
    roles: integrators,
    path: consumerRemovalPath(':workspace', ':consumer'),
    find: ({ workspace, req }) => ports.consumers.find(workspace, String(req.params.consumer)),
    question: ({ name, kept }, { workspace }) => ({
      title: `Remove the consumer ${name}?`,
      name,
      section: webhooksSection,
      breadcrumb: webhookCrumbs(workspace),
      text: html`${code(name)} is no longer listed, and raises no alert.${kept !== undefined && ' Its position is removed: it begins again at the first event.'} If it reads again, it is listed again.`,
      button: 'Remove consumer',
      isDangerous: true,
      back: webhooksPath(workspace),
    }),
    async make({ name }, { caller, workspace, notice }) {
      await removeConsumer(ports, caller, name);
      notice(`Consumer ${name} was removed.`);
      return { redirect: webhooksPath(workspace) };
    },
  });
}

function listPage(
  workspace: string,
  views: WebhookStatusView[],
  lastDay: readonly WebhookResults[],
  named: readonly ConsumerView[],
  paused: Html | undefined,
): Page {
  return {
    title: webhooksSection,
    section: webhooksSection,
    body: html`<div class="page-head"><h1>Webhooks</h1>
<div class="actions"><a role="button" href="/dashboard${webhooksPath(workspace)}/new">Create webhook</a></div></div>
${paused}
<p>Chartledger sends the events of the workspace ${code(workspace)} to each of these URLs, signed and in order for each record, and retries until they are accepted.</p>
${views.length === 0 ? empty(html`No webhooks in this workspace. Create one to receive changes, or read them with ${code('GET /events')}.`) : webhookTable(workspace, views, lastDay)}
${named.length > 0 && consumerTable(workspace, named)}`,
  };
}

function consumerTable(workspace: string, named: readonly ConsumerView[]): Html {
  return html`<h2>Readers and sinks</h2>
<p>Who reads the events under a name.</p>
${table(
  'Readers and sinks',
  [
    { title: 'Name', isHeader: true, cell: ({ name }) => bdi(name) },
    { title: 'Type', cell: ({ type }) => type },
    { title: 'View', cell: ({ contents }) => contents },
    { title: 'Waiting', cell: (one) => pendingText(one) },
    {
      title: 'Last contact',
      cell: ({ last_contact_at: at }) => (at === null ? 'never' : timeAgo(at)),
    },
    {
      title: 'Action',
      cell: ({ name }) =>
        html`<a href="/dashboard${consumerRemovalPath(workspace, name)}" aria-label="Remove ${name}">Remove</a>`,
    },
  ],
  named,
)}`;
}

function webhookTable(
  workspace: string,
  views: WebhookStatusView[],
  lastDay: readonly WebhookResults[],
): Html {
  return html`<div class="webhooks">${table(
    'Webhooks',
    [
      {
        title: 'URL',
        isHeader: true,
        cell: ({ id, url, description }) =>
          html`<a href="/dashboard${webhookPath(workspace, id)}" title="${url}">${bdi(url)}</a>${description && html`<br><small class="muted">${bdi(description)}</small>`}`,
      },
      { title: 'State', cell: webhookState },
      { title: 'Last 24 hours', cell: ({ id }) => hourStrip(lastDay, id) },
      { title: 'Payload', cell: ({ payload }) => payload },
      { title: 'Waiting', cell: ({ delivery }) => pendingText(delivery) },
      {
        title: 'Given up',
        isNumber: true,
        cell: ({ delivery: { failed } }) => failed.toLocaleString('en-US'),
      },
      {
        title: 'Last success',
        cell: ({ delivery: { last_success_at: at } }) => (at === null ? 'never' : timeAgo(at)),
      },
    ],
    views,
  )}</div>`;
}

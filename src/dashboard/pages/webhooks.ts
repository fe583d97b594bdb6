import type { WebhookManager } from '../../modules/webhooks/WebhookManager.ts';
import type { WebhookStatusView } from '../../modules/webhooks/webhookView.ts';
import { type Html, html } from '../components/html.ts';
import { type DashboardRoute, integrators, type Page } from '../components/route.ts';
import { table } from '../components/table.ts';
import { code, empty, timeAgo } from '../components/text.ts';
import { webhookCaller, webhookPath, webhooksPath, webhooksSection } from '../components/webhookPaths.ts';
import { pausedNote, pendingText, webhookState } from './webhookState.ts';

/** Settings, Webhooks of a workspace. */
export function webhooksRoutes(ports: { webhooks: WebhookManager }): DashboardRoute[] {
  return [
    {
      method: 'get',
      path: '/workspaces/:workspace/webhooks',
      roles: integrators,
      async handle(visit) {
        const views = await ports.webhooks.views(await ports.webhooks.list(webhookCaller(visit)));
        return { page: listPage(visit.workspace, views, pausedNote(ports.webhooks, visit)) };
      },
    },
  ];
}

function listPage(workspace: string, views: WebhookStatusView[], paused: Html | undefined): Page {
  return {
    title: webhooksSection,
    section: webhooksSection,
    body: html`<h1>Webhooks</h1>
${paused}
<p>Chartledger sends the events of the workspace ${code(workspace)} to each of these URLs, signed and in order for each record, and retries until they are accepted.</p>
<p><a role="button" href="/dashboard${webhooksPath(workspace)}/new">Create webhook</a></p>
${views.length === 0 ? empty(html`No webhooks in this workspace. Create one to receive changes, or read them with ${code('GET /events')}.`) : webhookTable(workspace, views)}`,
  };
}

function webhookTable(workspace: string, views: WebhookStatusView[]): Html {
  return table(
    'Webhooks',
    [
      {
        title: 'URL',
        isHeader: true,
        cell: ({ id, url, description }) =>
          html`<a href="/dashboard${webhookPath(workspace, id)}">${url}</a>${description && html`<br>${description}`}`,
      },
      { title: 'State', cell: webhookState },
      { title: 'Payload', cell: ({ payload }) => payload },
      {
        title: 'Waiting',
        cell: ({ delivery }) => pendingText(delivery),
      },
      { title: 'Given up', cell: ({ delivery: { failed } }) => failed },
      {
        title: 'Last success',
        cell: ({ delivery: { last_success_at: at } }) => (at === null ? 'never' : timeAgo(at)),
      },
    ],
    views,
  );
}

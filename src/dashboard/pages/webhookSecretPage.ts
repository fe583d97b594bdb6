import type { NewSecret, WebhookManager } from '../../modules/webhooks/WebhookManager.ts';
import { html } from '../components/html.ts';
import { type DashboardRoute, integrators, type Page, type Reply, type Visit } from '../components/route.ts';
import { code, secretOnce, time } from '../components/text.ts';
import { webhookCaller, webhookId, webhookPath, webhooksSection } from '../components/webhookPaths.ts';
import { showOnce, takeShownOnce } from '../http/shownOnce.ts';

/** What the page shows of a secret just created. */
interface MadeSecret {
  title: string;
  secret: string;
  /** ISO 8601; null where there is no previous one. */
  previousEnds: string | null;
}

const madePath = (workspace: string, id: string) => `${webhookPath(workspace, id)}/made`;

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
        const made = takeShownOnce<MadeSecret>(visit, madePath(visit.workspace, id));
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
    body: html`<h1>${title}</h1>
${secretOnce('Signing secret', secret)}
<p><strong>Copy it now: it will not be shown again.</strong> Your endpoint uses it to verify the signature of every message, as Standard Webhooks specifies.</p>
<p>Webhook ${code(id)}, to ${url}.${previousEnds !== null && html` The previous secret also signs until ${time(previousEnds)}.`}</p>
<p><a role="button" class="outline secondary" href="/dashboard${webhookPath(workspace, id)}">Go to webhook</a></p>`,
  };
}

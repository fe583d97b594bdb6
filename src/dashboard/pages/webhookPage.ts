import type { WebhookManager } from '../../modules/webhooks/WebhookManager.ts';
import type { WebhookStatusView } from '../../modules/webhooks/webhookView.ts';
import { facts } from '../components/facts.ts';
import { type Html, html } from '../components/html.ts';
import { who } from '../components/principal.ts';
import { type DashboardRoute, integrators, type Page, type Visit } from '../components/route.ts';
import { code, time, timeAgo } from '../components/text.ts';
import { webhookCaller, webhookId, webhooksSection } from '../components/webhookPaths.ts';
import { type Attempts, attemptParameters, attemptsSection, webhookAttempts } from './webhookAttempts.ts';
import { webhookActions } from './webhookChanges.ts';
import { pausedNote, pendingText, webhookState } from './webhookState.ts';

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
${facts(factsOf(view))}
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

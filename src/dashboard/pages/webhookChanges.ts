import type { WebhookCaller } from '../../modules/webhooks/payloadPermissions.ts';
import type { WebhookManager } from '../../modules/webhooks/WebhookManager.ts';
import { MAX_OVERLAP_SECONDS } from '../../modules/webhooks/webhookSettings.ts';
import { confirmedChange } from '../components/confirmation.ts';
import { endings } from '../components/endings.ts';
import { select } from '../components/formFields.ts';
import { type Html, html } from '../components/html.ts';
import { momentInputs, momentOf } from '../components/momentFields.ts';
import { type DashboardRoute, integrators, type Reply, type Visit } from '../components/route.ts';
import { textOf } from '../components/sentForm.ts';
import {
  webhookCaller,
  webhookId,
  webhookPath,
  webhooksPath,
  webhooksSection,
} from '../components/webhookPaths.ts';
import { toMadeSecret } from './webhookSecretPage.ts';

/** An operation on a webhook, carried out once its confirmation page has been answered. */
interface WebhookChange {
  /** Last segment of its path. */
  name: string;
  button: string;
  isDangerous?: boolean;
  /** What it does. */
  text: string;
  /** What the question asks for, besides the button. */
  fields?(): Html;
  isFor(state: string): boolean;
  make(manager: WebhookManager, caller: WebhookCaller, id: string, visit: Visit): Promise<Reply>;
}

/** Reports what was done on the webhook's page. */
function done({ workspace, notice }: Visit, id: string, text: string): Reply {
  notice(text);
  return { redirect: webhookPath(workspace, id) };
}

const isEnabled = (state: string) => state === 'enabled';

/** What is sent again, by the values of the choice. */
const replays: Record<string, (visit: Visit) => object> = {
  failed: () => ({ failed: true }),
  time: ({ form }) => ({ from: momentOf(form, 'from') }),
  all: () => ({ after: '0' }),
  message: ({ form }) => ({ message_id: textOf(form, 'message_id') }),
};

const replayFields = () => html`${select({
  name: 'what',
  label: 'What to replay',
  options: [
    { value: 'failed', text: 'all messages that were given up' },
    { value: 'time', text: 'all events since a given time' },
    { value: 'all', text: 'all events since the first one' },
  ],
})}
${momentInputs({
  name: 'from',
  label: 'Time',
  hint: 'Only for all events since a given time.',
})}`;

const changes: readonly WebhookChange[] = [
  {
    name: 'ping',
    button: 'Send a ping',
    text: 'Sends one message without an event, to test the endpoint. The response appears under Attempts.',
    isFor: isEnabled,
    async make(manager, caller, id, visit) {
      await manager.ping(caller, id);
      return done(visit, id, 'The ping will be sent shortly.');
    },
  },
  {
    name: 'retry',
    button: 'Retry now',
    text: 'All messages that are waiting for a retry are sent now. Those that fail keep their retry schedule.',
    isFor: isEnabled,
    async make(manager, caller, id, visit) {
      await manager.retry(caller, id);
      return done(visit, id, 'Waiting messages are being retried now.');
    },
  },
  {
    name: 'replay',
    button: 'Replay',
    text: 'Messages are sent again, each with its original webhook-id.',
    fields: replayFields,
    isFor: isEnabled,
    async make(manager, caller, id, visit) {
      const what = replays[textOf(visit.form, 'what')]?.(visit) ?? {};
      await manager.replay(caller, id, what);
      return done(visit, id, 'The messages will be sent again.');
    },
  },
  {
    name: 'secret',
    button: 'Rotate secret',
    text: 'You get a new secret. Messages are signed with both secrets until the current one expires.',
    fields: () =>
      select({
        name: 'overlap_seconds',
        label: 'The current secret expires',
        value: '86400',
        options: endings(MAX_OVERLAP_SECONDS),
      }),
    isFor: () => true,
    async make(manager, caller, id, visit) {
      const overlap_seconds = Number(textOf(visit.form, 'overlap_seconds') || Number.NaN);
      const made = await manager.rotateSecret(caller, id, { overlap_seconds });
      return toMadeSecret(visit, 'Secret rotated', made);
    },
  },
  {
    name: 'disable',
    button: 'Disable',
    isDangerous: true,
    text: 'Nothing is sent until you enable the webhook again. It then continues where it stopped.',
    isFor: isEnabled,
    async make(manager, caller, id, visit) {
      await manager.update(caller, id, { state: 'disabled' });
      return done(visit, id, 'The webhook is disabled.');
    },
  },
  {
    name: 'enable',
    button: 'Enable',
    text: 'The webhook continues where it stopped.',
    isFor: (state) => !isEnabled(state),
    async make(manager, caller, id, visit) {
      await manager.update(caller, id, { state: 'enabled' });
      return done(visit, id, 'The webhook is enabled.');
    },
  },
  {
    name: 'delete',
    button: 'Delete',
    isDangerous: true,
    text: 'Nothing more is sent, and the list of its attempts is deleted. This cannot be undone.',
    isFor: () => true,
    async make(manager, caller, id, { workspace, notice }) {
      await manager.delete(caller, id);
      notice('The webhook was deleted.');
      return { redirect: webhooksPath(workspace) };
    },
  },
];

/** Returns the operations on a webhook in that state: links to the confirmation pages. */
export function webhookActions(workspace: string, id: string, state: string): Html {
  const path = `/dashboard${webhookPath(workspace, id)}`;
  return html`<div class="actions"><a role="button" class="outline" href="${path}/edit">Edit</a>${changes
    .filter(({ isFor }) => isFor(state))
    .map(
      ({ name, button, isDangerous }) =>
        html`<a role="button" class="outline${isDangerous ? ' danger' : ''}" href="${path}/${name}">${button}</a>`,
    )}</div>`;
}

/** For each operation, the confirmation page and the action. */
export function webhookChangeRoutes({ webhooks }: { webhooks: WebhookManager }): DashboardRoute[] {
  return changes.flatMap(({ name, button, text, fields, isDangerous, make }) =>
    confirmedChange({
      roles: integrators,
      path: `/workspaces/:workspace/webhooks/:id/${name}`,
      find: (visit) => webhooks.find(webhookCaller(visit), webhookId(visit)),
      question: ({ id, url }, { workspace }) => ({
        title: `${button}?`,
        section: webhooksSection,
        text: html`Webhook to <strong>${url}</strong>. ${text}`,
        fields: fields?.(),
        button,
        isDangerous,
        back: webhookPath(workspace, id),
      }),
      make: ({ id }, visit) => make(webhooks, webhookCaller(visit), id, visit),
    }),
  );
}

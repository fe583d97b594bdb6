import { z } from 'zod';
import { validationError } from '../../domain/records/schema/validation.ts';
import { ALL_WORKSPACES } from '../../modules/auth/users.ts';
import {
  findSubscription,
  type Subscription,
  saveSubscription,
  subscriptionSecret,
  type Topic,
  topicReaders,
  topics,
} from '../../modules/notifications/subscriptions.ts';
import { checkUrl, type EgressPolicy } from '../../modules/webhooks/settings.ts';
import type { FieldMessage } from '../../platform/errors.ts';
import type { StateStore } from '../../storage/stateStore.ts';
import { checkboxes, formError, input, messageOf } from '../components/forms.ts';
import {
  type DashboardRoute,
  everyone,
  type Html,
  html,
  type Page,
  problemOf,
  type Refusal,
  type Reply,
  textOf,
  type Visit,
  valuesOf,
} from '../components/page.ts';
import { code, empty, secretOnce } from '../components/text.ts';

export interface NotificationPagePorts {
  stateStore: StateStore;
  notifications: {
    /** Whether a mail server is configured. */
    canMail: boolean;
    addresses: EgressPolicy;
    /** Resolves with the keys from which secrets are derived: the one in use first. */
    secretsKeys(): Promise<readonly Uint8Array[]>;
  };
}

const topicTexts: Record<Topic, { text: string; hint: string }> = {
  webhook_failing: { text: 'A webhook fails', hint: 'Its endpoint has accepted nothing for ten minutes.' },
  webhook_disabled: {
    text: 'A webhook is disabled by the service',
    hint: 'Its endpoint responded 410 Gone or accepted nothing for days, or its API key was deleted.',
  },
  consumer_behind: {
    text: 'A reader or sink is behind',
    hint: 'An event has waited for it for an hour, or it made no contact for a day.',
  },
  messages_waiting: {
    text: 'Messages wait',
    hint: 'They were not fully accepted, and wait to be corrected or processed again.',
  },
  filing_limit_near: {
    text: 'A filing limit is near',
    hint: 'Encounters that are not billed come close to the filing limit of the payer.',
  },
  key_expires: { text: 'An API key expires', hint: 'Within seven days.' },
  break_glass: {
    text: 'A record is opened with a reason',
    hint: 'A user without the right for it opened it, where the workspace allows that.',
  },
  access_report: {
    text: 'The report of access out of the ordinary',
    hint: 'At the beginning of each month, on the month before.',
  },
  head_late: { text: 'Signed heads are late', hint: 'None was sent for three intervals.' },
  backup_late: { text: 'A backup is late', hint: 'None was taken for two days.' },
};

const section = 'Notifications';
const path = '/workspaces/:workspace/notifications';
const mailSchema = z.email();

/** `…/notifications`: of what users want to be notified, and how. */
export function notificationsRoutes(ports: NotificationPagePorts): DashboardRoute[] {
  return [
    {
      method: 'get',
      path,
      roles: everyone,
      handle: async (visit) => {
        const { workspace, user } = visit;
        const known = await findSubscription(ports.stateStore, { workspace, user: user.id });
        return { page: formPage(ports, visit, known) };
      },
    },
    { method: 'post', path, roles: everyone, handle: (visit) => save(ports, visit) },
  ];
}

/** Returns the topics that a user may choose in a workspace. */
function topicsFor({ may }: Visit): Topic[] {
  return topics.filter((topic) => {
    const { roles, isOfAll } = topicReaders[topic];
    return isOfAll ? may(roles, ALL_WORKSPACES) : may(roles);
  });
}

async function save(ports: NotificationPagePorts, visit: Visit): Promise<Reply> {
  const { workspace, user, form, notice } = visit;
  const [mail, url] = [textOf(form, 'mail').trim(), textOf(form, 'url').trim()];
  const chosen = topicsFor(visit).filter((topic) => valuesOf(form, 'topics').includes(topic));
  const sent = { user: user.id, workspace, topics: chosen, ...(mail !== '' && { mail }) };
  try {
    const details: FieldMessage[] = [];
    if (mail !== '' && !mailSchema.safeParse(mail).success)
      details.push({ field: 'mail', message: 'must be an email address' });
    const problem = url === '' ? undefined : checkUrl(url, ports.notifications.addresses);
    if (problem) details.push({ field: 'url', message: problem });
    if (details.length > 0) throw validationError(details);
    const { subscription, isSecretNew } = await saveSubscription(ports.stateStore, {
      ...sent,
      url: url === '' ? undefined : url,
    });
    if (!isSecretNew) {
      notice('Your notifications were saved.');
      return { redirect: `/workspaces/${workspace}/notifications` };
    }
    const [key] = await ports.notifications.secretsKeys();
    return { page: secretPage(workspace, subscriptionSecret(key as Uint8Array, subscription)) };
  } catch (error) {
    const typed = { ...sent, ...(url !== '' && { webhook: { url, salt: '' } }) };
    return { page: formPage(ports, visit, typed, problemOf(error)) };
  }
}

function formPage(
  { notifications: { canMail } }: NotificationPagePorts,
  visit: Visit,
  known: Subscription | undefined,
  refusal?: Refusal,
): Page {
  const { workspace, csrf } = visit;
  const choices = topicsFor(visit).map((value) => ({
    ...{ value, ...topicTexts[value], isChecked: known?.topics.includes(value) ?? false },
  }));
  const body = html`<h1>Notifications</h1>
<p>What you are notified of in ${code(workspace)}: once for each cause, and without patient data. Others choose for themselves.</p>
${
  choices.length === 0
    ? empty('There is nothing of which your role is notified.')
    : html`${formError(refusal)}
<form method="post" action="/dashboard/workspaces/${workspace}/notifications">${csrf}
<div class="columns">${checkboxes('topics', 'Notify me when', choices)}</div>
${
  canMail
    ? input({
        ...{
          name: 'mail',
          label: 'Email address',
          type: 'email',
          value: known?.mail,
          autocomplete: 'email',
        },
        hint: 'Leave it empty to get no mail.',
        error: messageOf(refusal?.details, 'mail'),
      })
    : html`<p class="muted">No mail is sent: no mail server is configured (${code('SMTP_URL')}).</p>`
}
${input({
  ...{ name: 'url', label: 'Webhook URL', value: known?.webhook?.url, autocomplete: 'off' },
  hint: 'Gets each notification as a message signed as Standard Webhooks specifies. Leave it empty to send none.',
  error: messageOf(refusal?.details, 'url'),
})}
<div class="actions"><button type="submit">Save</button></div>
</form>`
}`;
  const status = refusal?.status;
  return { title: section, section, body, ...(status && { status }) };
}

/** Returns the page that shows a secret, once. */
function secretPage(workspace: string, secret: string): Page {
  const body: Html = html`<h1>Notifications</h1>
<p>Your notifications were saved. The messages to your URL are signed with this secret:</p>
${secretOnce('Signing secret', secret)}
<p><strong>Copy it now: it will not be shown again.</strong> To get another one, save without the URL, then with it.</p>
<p><a role="button" class="outline secondary" href="/dashboard/workspaces/${workspace}/notifications">Go to notifications</a></p>`;
  return { title: section, section, body };
}

import type { NullableTerms } from '../../domain/events/payloads.ts';
import { eventTitle } from '../../modules/eventStream/asyncapi.ts';
import { feedEventTypes, type UnchangedEvents } from '../../modules/eventStream/cloudEvents.ts';
import type { WebhookManager, WebhookStatusView } from '../../modules/webhooks/manager.ts';
import { MAX_OVERLAP_SECONDS, mayUsePayload, type WebhookCaller } from '../../modules/webhooks/settings.ts';
import { type WebhookPayload, webhookPayloads } from '../../modules/webhooks/webhook.ts';
import {
  checkboxes,
  confirmedChange,
  expiryOptions,
  formError,
  input,
  messageOf,
  select,
  termFields,
  termsSent,
} from '../components/forms.ts';
import { titleOf } from '../components/labels.ts';
import { dropdown } from '../components/layout.ts';
import {
  type DashboardRoute,
  type Html,
  html,
  integrators,
  type Page,
  problemOf,
  type Refusal,
  type Reply,
  textOf,
  type Visit,
  valuesOf,
} from '../components/page.ts';
import { momentInputs, momentOf } from '../components/time.ts';
import { webhookCaller, webhookId, webhookPath, webhooksPath, webhooksSection } from '../components/urls.ts';
import { toMadeSecret, webhookCrumbs } from './webhooks.ts';

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
<div class="of-time">${momentInputs({ name: 'from', label: 'Time' })}</div>`;

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
    button: 'Replay messages',
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
        options: expiryOptions(MAX_OVERLAP_SECONDS),
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
    button: 'Disable webhook',
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
    button: 'Enable webhook',
    text: 'The webhook continues where it stopped.',
    isFor: (state) => !isEnabled(state),
    async make(manager, caller, id, visit) {
      await manager.update(caller, id, { state: 'enabled' });
      return done(visit, id, 'The webhook is enabled.');
    },
  },
  {
    name: 'delete',
    button: 'Delete webhook',
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

/** What is done first with a webhook in its state. */
function firstChange({ state, delivery }: WebhookStatusView): string {
  if (delivery.problem === 'secret_unreadable') return 'secret';
  if (!isEnabled(state)) return 'enable';
  return delivery.failing_since === null ? 'ping' : 'retry';
}

/** Returns the operations on a webhook: links to the confirmation pages, the one that its state asks for as a button. */
export function webhookActions(workspace: string, view: WebhookStatusView): Html {
  const path = `/dashboard${webhookPath(workspace, view.id)}`;
  const possible = changes.filter(({ isFor }) => isFor(view.state));
  const first = possible.find(({ name }) => name === firstChange(view));
  const others = possible.filter((change) => change !== first);
  return html`<div class="actions">${first && html`<a role="button" href="${path}/${first.name}">${first.button}</a>`}
<a role="button" class="outline" href="${path}/edit">Edit</a>
${dropdown(
  'More',
  others.map(
    ({ name, button, isDangerous }) =>
      html`<a href="${path}/${name}"${isDangerous && html` class="destructive"`}>${button}</a>`,
  ),
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
        breadcrumb: webhookCrumbs(workspace, { id, url }),
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

/** The settings of a webhook, as its form shows them. */
interface FormValues {
  url: string;
  description: string;
  payload: string;
  unchanged: string;
  kinds: readonly string[];
  types: readonly string[];
  terms: NullableTerms;
}

const fresh: FormValues = {
  url: '',
  description: '',
  payload: 'reference',
  unchanged: 'send',
  kinds: [],
  types: [],
  terms: {},
};

/** What messages contain, in words. */
export const payloads: Record<WebhookPayload, string> = {
  reference: 'References: IDs, versions and names of changed fields, no values',
  full: 'Full: whole events, with PHI',
  limited:
    'Limited data set: dates, cities and ZIP codes, no names or numbers; for recipients with a data use agreement',
  deidentified: 'De-identified: events without data that could identify a person',
};

const unchangedTexts: Record<UnchangedEvents, string> = {
  send: 'Send like all others',
  skip: 'Do not send',
};

const starts = [
  { value: 'now', text: 'with the next event' },
  { value: 'beginning', text: 'with the first event' },
  { value: 'time', text: 'with the first event since a given time' },
];

/** The forms for a new webhook, and for changing one. */
export function webhookFormRoutes({ webhooks }: { webhooks: WebhookManager }): DashboardRoute[] {
  const newPath = '/workspaces/:workspace/webhooks/new';
  const editPath = '/workspaces/:workspace/webhooks/:id/edit';
  return [
    {
      method: 'get',
      path: newPath,
      roles: integrators,
      handle: async (visit) => ({ page: newPage(visit, fresh) }),
    },
    {
      method: 'post',
      path: newPath,
      roles: integrators,
      async handle(visit) {
        const start = textOf(visit.form, 'start');
        const body = {
          ...bodyOf(visit),
          start: start === 'time' ? momentOf(visit.form, 'start_time') : start,
        };
        try {
          const made = await webhooks.create(webhookCaller(visit), body);
          return toMadeSecret(visit, 'Webhook created', made);
        } catch (error) {
          return { page: newPage(visit, valuesSent(visit), problemOf(error)) };
        }
      },
    },
    {
      method: 'get',
      path: editPath,
      roles: integrators,
      async handle(visit) {
        const webhook = await webhooks.find(webhookCaller(visit), webhookId(visit));
        const { url, payload, description, kinds, types } = webhook;
        const values = {
          url,
          payload,
          unchanged: webhook.unchanged ?? 'send',
          description: description ?? '',
          kinds: kinds ?? [],
          types: types ?? [],
          terms: webhook,
        };
        return { page: editPage(visit, url, values) };
      },
    },
    {
      method: 'post',
      path: editPath,
      roles: integrators,
      async handle(visit) {
        const { id, url } = await webhooks.find(webhookCaller(visit), webhookId(visit));
        try {
          await webhooks.update(webhookCaller(visit), id, bodyOf(visit));
        } catch (error) {
          return { page: editPage(visit, url, valuesSent(visit), problemOf(error)) };
        }
        visit.notice('The webhook was saved.');
        return { redirect: webhookPath(visit.workspace, id) };
      },
    },
  ];
}

function valuesSent({ form }: Visit): FormValues {
  return {
    url: textOf(form, 'url'),
    description: textOf(form, 'description'),
    payload: textOf(form, 'payload'),
    unchanged: textOf(form, 'unchanged'),
    kinds: valuesOf(form, 'kinds'),
    types: valuesOf(form, 'types'),
    terms: termsSent(form),
  };
}

/** Returns what was sent, in the form of the interface: a filter that names nothing is no filter. */
function bodyOf(visit: Visit) {
  const { description, kinds, types, terms, ...values } = valuesSent(visit);
  return {
    ...values,
    ...terms,
    description: description || null,
    kinds: kinds.length > 0 ? kinds : null,
    types: types.length > 0 ? types : null,
  };
}

function newPage(visit: Visit, values: FormValues, refusal?: Refusal): Page {
  const { workspace, form } = visit;
  const more = html`${select({
    name: 'start',
    label: 'Start',
    value: textOf(form, 'start') || 'now',
    options: starts,
    error: messageOf(refusal?.details, 'start'),
  })}
<div class="of-time">${momentInputs({ name: 'start_time', label: 'Time', value: textOf(form, 'start_time') })}</div>`;
  const back = `/dashboard${webhooksPath(workspace)}`;
  const crumbs = webhookCrumbs(workspace);
  return formPage(
    visit,
    { title: 'Create webhook', crumbs, action: `${back}/new`, back, more },
    values,
    refusal,
  );
}

/** `url`: the present one, whatever was typed. */
function editPage(visit: Visit, url: string, values: FormValues, refusal?: Refusal): Page {
  const { workspace } = visit;
  const id = webhookId(visit);
  const back = `/dashboard${webhookPath(workspace, id)}`;
  const crumbs = webhookCrumbs(workspace, { id, url });
  const frame = { title: 'Edit webhook', button: 'Save webhook', crumbs, action: `${back}/edit`, back };
  return formPage(visit, frame, values, refusal);
}

interface FormFrame {
  title: string;
  /** Default: the title. */
  button?: string;
  crumbs: Html;
  /** Where the form is sent, and where declining leads to, with `/dashboard`. */
  action: string;
  back: string;
  /** Fields that only this form has. */
  more?: Html;
}

function formPage(
  visit: Visit,
  { title, button = title, crumbs, action, back, more }: FormFrame,
  values: FormValues,
  refusal: Refusal | undefined,
): Page {
  const wrong = (field: string) => messageOf(refusal?.details, field);
  const caller = webhookCaller(visit);
  const usable = webhookPayloads.filter((payload) => mayUsePayload(caller, payload));
  return {
    title,
    section: webhooksSection,
    ...(refusal && { status: refusal.status }),
    body: html`${crumbs}
<h1>${title}</h1>
${formError(refusal)}
<form method="post" action="${action}">${visit.csrf}
<div class="record-columns"><fieldset>
<legend>Where to</legend>
${input({
  name: 'url',
  label: 'URL',
  value: values.url,
  isRequired: true,
  autocomplete: 'off',
  placeholder: 'https://',
  hint: 'With a public address.',
  error: wrong('url'),
})}
${input({
  name: 'description',
  label: 'Description',
  value: values.description,
  autocomplete: 'off',
  hint: 'Shown only to people.',
  error: wrong('description'),
})}
${select({
  name: 'payload',
  label: 'Payload',
  value: values.payload,
  options: usable.map((value) => ({ value, text: payloads[value] })),
  error: wrong('payload'),
})}
${more}
</fieldset>
${termFields(values.terms, refusal?.details)}</div>
${filters(values, wrong)}
<div class="actions"><button type="submit">${button}</button>
<a role="button" class="outline secondary" href="${back}">Cancel</a></div>
</form>`,
  };
}

const kinds = [...new Set(feedEventTypes.map(({ kind }) => kind))];

function filters(values: FormValues, wrong: (field: string) => string | undefined): Html {
  const kindChoices = kinds.map((value) => ({
    ...{ value, text: titleOf(value), isChecked: values.kinds.includes(value) },
  }));
  const typeChoices = feedEventTypes.map((one) => ({
    ...{ value: one.type, text: eventTitle(one), hint: one.type, isChecked: values.types.includes(one.type) },
  }));
  return html`<div class="choices">${checkboxes('kinds', 'Only events of these kinds (none selected: all)', kindChoices, wrong('kinds'))}</div>
<details${(values.types.length > 0 || wrong('types')) && html` open`}><summary>Only some types of events</summary>
<div class="columns">${checkboxes('types', 'Only events of these types (none selected: all)', typeChoices, wrong('types'))}</div>
</details>
${select({
  name: 'unchanged',
  label: 'Events that changed no field of their record',
  value: values.unchanged,
  options: Object.entries(unchangedTexts).map(([value, text]) => ({ value, text })),
  error: wrong('unchanged'),
})}`;
}

import type { NullableTerms } from '../../domain/events/disclosureTerms.ts';
import { feedEventTypes } from '../../modules/eventStream/cloudEvent.ts';
import type { UnchangedEvents } from '../../modules/eventStream/selection.ts';
import { mayUsePayload } from '../../modules/webhooks/payloadPermissions.ts';
import type { WebhookManager } from '../../modules/webhooks/WebhookManager.ts';
import { type WebhookPayload, webhookPayloads } from '../../modules/webhooks/webhook.ts';
import { checkboxes, formError, input, messageOf, select } from '../components/formFields.ts';
import { type Html, html } from '../components/html.ts';
import { momentInputs, momentOf } from '../components/momentFields.ts';
import { type DashboardRoute, integrators, type Page, type Visit } from '../components/route.ts';
import { type Refusal, refusalOf, textOf, valuesOf } from '../components/sentForm.ts';
import { termFields, termsSent } from '../components/termFields.ts';
import {
  webhookCaller,
  webhookId,
  webhookPath,
  webhooksPath,
  webhooksSection,
} from '../components/webhookPaths.ts';
import { toMadeSecret } from './webhookSecretPage.ts';

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

const payloads: Record<WebhookPayload, string> = {
  reference: 'References: IDs, versions and names of changed fields, no values',
  full: 'Full: whole events, with PHI',
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
          return { page: newPage(visit, valuesSent(visit), refusalOf(error)) };
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
        return { page: editPage(visit, values) };
      },
    },
    {
      method: 'post',
      path: editPath,
      roles: integrators,
      async handle(visit) {
        const id = webhookId(visit);
        try {
          await webhooks.update(webhookCaller(visit), id, bodyOf(visit));
        } catch (error) {
          return { page: editPage(visit, valuesSent(visit), refusalOf(error)) };
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
${momentInputs({
  name: 'start_time',
  label: 'Time',
  value: textOf(form, 'start_time'),
  hint: 'Only when starting from a given time.',
})}`;
  const back = `/dashboard${webhooksPath(workspace)}`;
  return formPage(visit, 'Create webhook', `${back}/new`, back, values, more, refusal);
}

function editPage(visit: Visit, values: FormValues, refusal?: Refusal): Page {
  const back = `/dashboard${webhookPath(visit.workspace, webhookId(visit))}`;
  return formPage(visit, 'Edit webhook', `${back}/edit`, back, values, html``, refusal);
}

function formPage(
  visit: Visit,
  title: string,
  action: string,
  back: string,
  values: FormValues,
  more: Html,
  refusal: Refusal | undefined,
): Page {
  const wrong = (field: string) => messageOf(refusal?.details, field);
  const caller = webhookCaller(visit);
  const usable = webhookPayloads.filter((payload) => mayUsePayload(caller, payload));
  return {
    title,
    section: webhooksSection,
    ...(refusal && { status: refusal.status }),
    body: html`<h1>${title}</h1>
${formError(refusal?.text)}
<form method="post" action="${action}">${visit.csrf}
${input({
  name: 'url',
  label: 'URL',
  value: values.url,
  isRequired: true,
  autocomplete: 'off',
  hint: 'An https URL with a public address.',
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
${select({
  name: 'unchanged',
  label: 'Events that changed no field of their record',
  value: values.unchanged,
  options: Object.entries(unchangedTexts).map(([value, text]) => ({ value, text })),
  error: wrong('unchanged'),
})}
${filters(values, wrong)}
${termFields(values.terms, refusal?.details)}
${more}
<div class="actions"><button type="submit">${title}</button>
<a role="button" class="outline secondary" href="${back}">Cancel</a></div>
</form>`,
  };
}

const kinds = [...new Set(feedEventTypes.map(({ kind }) => kind))];
const types = feedEventTypes.map(({ type }) => type);

function filters(values: FormValues, wrong: (field: string) => string | undefined): Html {
  const choices = (all: readonly string[], chosen: readonly string[]) =>
    all.map((value) => ({ value, text: value, isChecked: chosen.includes(value) }));
  return html`${checkboxes('kinds', 'Only events of these kinds (none selected: all)', choices(kinds, values.kinds), wrong('kinds'))}
${checkboxes('types', 'Only events of these types (none selected: all)', choices(types, values.types), wrong('types'))}`;
}

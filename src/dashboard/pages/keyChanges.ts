import type { KeyDirectory } from '../../modules/auth/KeyDirectory.ts';
import { KeyManager, MAX_ROTATION_SECONDS } from '../../modules/auth/KeyManager.ts';
import { type ApiKey, stateOf } from '../../modules/auth/keyState.ts';
import { deleteKey, webhooksOfKey } from '../../modules/webhooks/deleteKey.ts';
import type { WebhookDirectory } from '../../modules/webhooks/WebhookDirectory.ts';
import type { Webhook } from '../../modules/webhooks/webhook.ts';
import { type FieldMessage, ServiceError } from '../../platform/errors.ts';
import { confirmedChange } from '../components/confirmation.ts';
import { endings } from '../components/endings.ts';
import { checkboxes, input, select } from '../components/formFields.ts';
import { type Html, html } from '../components/html.ts';
import { type DashboardRoute, integrators, type Reply, type Visit } from '../components/route.ts';
import { textOf, valuesOf } from '../components/sentForm.ts';
import { termFields, termsSent } from '../components/termFields.ts';
import { code } from '../components/text.ts';
import { findKey } from './findKey.ts';
import { keysPath, keysSection, toMadeKey } from './keyMadePage.ts';
import { limitFields, limitsSent, limitTexts } from './limitFields.ts';
import { requireGrantable } from './permissionFields.ts';

export interface KeyChangePorts {
  directory: KeyDirectory;
  webhookDirectory: WebhookDirectory;
}

/** An operation on a key, carried out once its confirmation page has been answered. */
interface KeyChange {
  /** Last segment of its path. */
  name: string;
  button: string;
  /** The question without the key's name, and its button; default: derived from `button`. */
  question?: string;
  submit?: string;
  isDangerous?: boolean;
  /** What it does. */
  text: string;
  /** What the question asks for, besides the button. */
  fields?(key: ApiKey, ports: KeyChangePorts, details?: readonly FieldMessage[]): Html | Promise<Html>;
  /** Whether it applies to a key in this state. */
  isFor(state: ReturnType<typeof stateOf>, key: ApiKey): boolean;
  make(ports: KeyChangePorts, key: ApiKey, visit: Visit): Promise<Reply>;
}

/** Returns a change of the key's state, which leads back to the list. */
function toState(state: ApiKey['state']): KeyChange['make'] {
  return async ({ directory }, { id, name }, { workspace, actor, notice }) => {
    await new KeyManager(directory, actor).setKeyState(id, state);
    notice(`API key ${name} is ${state}.`);
    return { redirect: keysPath(workspace) };
  };
}

const changes: readonly KeyChange[] = [
  {
    name: 'recipient',
    button: 'Recipient',
    question: 'Set the recipient of the API key',
    submit: 'Save recipient',
    text: 'Earlier reads keep the recipient and purpose that applied at the time.',
    fields: ({ terms }, _ports, details) => termFields(terms, details),
    isFor: (state) => state !== 'deleted',
    async make({ directory }, { id, name }, { form, actor, workspace, notice }) {
      await new KeyManager(directory, actor).updateKey(id, termsSent(form));
      notice(`The recipient and purpose of API key ${name} were changed.`);
      return { redirect: keysPath(workspace) };
    },
  },
  {
    name: 'limits',
    button: 'Limits',
    question: 'Set the limits of the API key',
    submit: 'Save limits',
    text: 'Changes apply to new requests.',
    fields: (key, _ports, details) => limitFields(limitTexts(key), details),
    isFor: (state) => state !== 'deleted',
    async make({ directory }, key, { form, actor, workspace, notice }) {
      await new KeyManager(directory, actor).setLimits(key.id, limitsSent(form, key));
      notice(`The limits of API key ${key.name} were changed.`);
      return { redirect: keysPath(workspace) };
    },
  },
  {
    name: 'rotate',
    button: 'Rotate',
    text: 'You get a new key with the same name, permissions and limits. The current key is accepted until the time you choose, then refused with 403.',
    fields: () =>
      select({
        name: 'expires_in',
        label: 'The current key expires',
        value: '86400',
        options: endings(MAX_ROTATION_SECONDS),
      }),
    isFor: (state, { replacedBy }) => state === 'active' && replacedBy === undefined,
    async make({ directory }, { id, permissions }, visit) {
      requireGrantable(visit, permissions);
      const seconds = Number(textOf(visit.form, 'expires_in') || Number.NaN);
      return toMadeKey(visit, await new KeyManager(directory, visit.actor).rotateKey(id, seconds));
    },
  },
  {
    name: 'deactivate',
    button: 'Deactivate',
    isDangerous: true,
    text: 'Requests with the key are refused with 403 until you activate it again.',
    isFor: (state) => state === 'active',
    make: toState('deactivated'),
  },
  {
    name: 'activate',
    button: 'Activate',
    text: 'Requests with the key are accepted again.',
    isFor: (state) => state === 'deactivated',
    make: toState('active'),
  },
  {
    name: 'delete',
    button: 'Delete',
    isDangerous: true,
    text: 'Requests with the key are permanently refused with 401. This cannot be undone. Data sent with it is kept and still shows its name.',
    fields: async (key, ports) =>
      html`${webhooksField(await enabledWebhooks(key, ports))}${input({
        name: 'name',
        label: `Type the name of the key, ${key.name}, to confirm`,
        isRequired: true,
        autocomplete: 'off',
      })}`,
    isFor: (state) => state !== 'deleted',
    async make({ directory, webhookDirectory: webhooks }, key, { form, actor, workspace, notice }) {
      if (textOf(form, 'name') !== key.name.trim()) {
        throw new ServiceError('validation_failed', 'This is not the name of the key. Nothing was deleted.');
      }
      const keys = new KeyManager(directory, actor);
      const { known } = directory;
      const keepWebhooks = valuesOf(form, 'keep_webhooks').length > 0;
      const found = await deleteKey({ keys, webhooks, known, actor }, key.id, { keepWebhooks });
      const end = keepWebhooks ? 'keep sending' : 'were disabled';
      const webhooksNotice = found.length > 0 ? ` Its webhooks ${end}: ${addresses(found)}.` : '';
      notice(`API key ${key.name} was deleted.${webhooksNotice}`);
      return { redirect: keysPath(workspace) };
    },
  },
];

const addresses = (webhooks: readonly Webhook[]) => webhooks.map(({ url }) => url).join(', ');

async function enabledWebhooks(
  { id }: ApiKey,
  { directory, webhookDirectory }: KeyChangePorts,
): Promise<Webhook[]> {
  await webhookDirectory.refresh();
  return webhooksOfKey(webhookDirectory.all(), directory.known, id);
}

/** Names the webhooks that a key's deletion disables, and asks whether it should. */
function webhooksField(webhooks: readonly Webhook[]): Html | undefined {
  if (webhooks.length === 0) return undefined;
  return html`<p>These webhooks were created with the key and will be disabled with it:</p>
<ul>${webhooks.map(({ id, url, payload }) => html`<li>${code(id)} to <strong>${url}</strong> (${payload})</li>`)}</ul>
${checkboxes('keep_webhooks', 'Webhooks', [{ value: 'yes', text: 'Keep them enabled' }])}`;
}

/** Returns the operations that apply to a key as it is now. */
export function keyChanges(key: ApiKey): readonly KeyChange[] {
  const state = stateOf(key, Date.now());
  return changes.filter(({ isFor }) => isFor(state, key));
}

/** For each operation, the confirmation page and the action. */
export function keyChangeRoutes(ports: KeyChangePorts): DashboardRoute[] {
  return changes.flatMap(({ name, button, question, submit, text, fields, isDangerous, make }) =>
    confirmedChange({
      roles: integrators,
      path: `/workspaces/:workspace/keys/:id/${name}`,
      find: (visit) => findKey(ports.directory, visit),
      question: async (key, { workspace }, details) => ({
        title: `${question ?? `${button} the API key`} ${key.name}?`,
        section: keysSection,
        text: html`${code(key.id)}. ${text}`,
        fields: await fields?.(key, ports, details),
        button: submit ?? `${button} API key`,
        isDangerous,
        back: keysPath(workspace),
      }),
      make: (key, visit) => make(ports, key, visit),
    }),
  );
}

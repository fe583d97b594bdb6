import { parseJson } from '../../domain/events/event.ts';
import {
  type ApiKey,
  limitSentences,
  limitsOfKey,
  type NullableLimits,
  stateOf,
} from '../../modules/auth/apiKeys.ts';
import type { KeyDirectory } from '../../modules/auth/keyDirectory.ts';
import { KeyManager, MAX_ROTATION_SECONDS } from '../../modules/auth/keyManager.ts';
import {
  kindPermissions,
  type Permission,
  permissionSchema,
  permissions,
  type WholePermission,
} from '../../modules/auth/permissions.ts';
import { parsePublicKeys } from '../../modules/auth/publicKeys.ts';
import { grantablePermissions } from '../../modules/auth/users.ts';
import { deleteKey, webhooksOfKey } from '../../modules/webhooks/manager.ts';
import type { Webhook, WebhookDirectory } from '../../modules/webhooks/webhook.ts';
import { type FieldMessage, invalidField, ServiceError } from '../../platform/errors.ts';
import {
  checkboxes,
  confirmedChange,
  expiryOptions,
  input,
  messageOf,
  select,
  termFields,
  termsSent,
  textArea,
} from '../components/forms.ts';
import { breadcrumb } from '../components/layout.ts';
import {
  type DashboardRoute,
  type Html,
  type HtmlValue,
  html,
  integrators,
  type Page,
  type Reply,
  textOf,
  type Visit,
  valuesOf,
} from '../components/page.ts';
import { code, secretOnce, time } from '../components/text.ts';
import { momentInputs, momentOf, shownMoment, showsMoment } from '../components/time.ts';
import { popFlash, showOnce } from '../http/session.ts';

/** Returns the key named by the path; throws `not_found` also for one of another workspace. */
export function findKey({ known }: KeyDirectory, { req, workspace }: Visit): ApiKey {
  const key = known.keys.get(String(req.params.id));
  if (key?.workspace === workspace) return key;
  throw new ServiceError('not_found', 'There is no such key in the workspace.');
}

export const keysSection = 'API keys';

/** Returns the address of a workspace's keys, below `/dashboard`. */
export function keysPath(workspace: string): string {
  return `/workspaces/${workspace}/keys`;
}

/** Returns the address of a key's page, below `/dashboard`. */
export function keyPath(workspace: string, id: string): string {
  return `${keysPath(workspace)}/${id}`;
}

interface MadeKey {
  id: string;
  workspace: string;
  key: string;
}

const madePath = ({ id, workspace }: Pick<MadeKey, 'id' | 'workspace'>) => `${keyPath(workspace, id)}/made`;

/** Leads to the page of a key just created: the only one that ever shows the key itself. */
export function toMadeKey(visit: Visit, made: MadeKey): Reply {
  return showOnce(visit, madePath(made), { key: made.key });
}

/** That page; from the second visit on it leads back to the list. */
export function keyMadeRoutes({ directory }: { directory: KeyDirectory }): DashboardRoute[] {
  return [
    {
      method: 'get',
      path: '/workspaces/:workspace/keys/:id/made',
      roles: integrators,
      async handle(visit) {
        const made = findKey(directory, visit);
        const shown = popFlash<{ key: string }>(visit, madePath(made));
        if (shown) return { page: keyMadePage(made, shown.key, directory) };
        visit.notice(
          `API key ${made.name} was shown once and is not stored. If nobody copied it, rotate or delete it.`,
        );
        return { redirect: keyPath(made.workspace, made.id) };
      },
    },
  ];
}

function keyMadePage(made: ApiKey, key: string, { known }: KeyDirectory): Page {
  const { id, name, workspace, permissions } = made;
  const previous = [...known.keys.values()].find(({ replacedBy }) => replacedBy === id);
  return {
    title: 'API key created',
    section: keysSection,
    body: html`<h1>API key created</h1>
${secretOnce('The key', key)}
<p><strong>Copy it now: it will not be shown again.</strong> Anyone who has it can use it: keep it in a secret store.</p>
<p>${name} (${code(id)}), permissions: ${permissions.join(', ')}. ${activationText(previous)} ${limitSentences(limitsOfKey(made)).join(' ')}</p>
<p><a role="button" class="outline secondary" href="/dashboard${keyPath(workspace, id)}">Go to API key</a></p>`,
  };
}

/** `previous` is the key that it replaces. */
function activationText(previous: ApiKey | undefined): Html {
  if (previous?.expiresAt === undefined) return html`It works immediately.`;
  return html`It replaces ${code(previous.id)}, which is refused from ${time(previous.expiresAt)} on.`;
}

/** The limits of a key in the form of its fields. */
interface LimitTexts {
  expires_at: string;
  networks: string;
  rate_limit: string;
}

/** Returns the limits of a key, in the form of its fields. */
function limitTexts({ expiresAt, networks, rateLimit }: Partial<ApiKey>): LimitTexts {
  return {
    expires_at: shownMoment(expiresAt)?.slice(0, 16) ?? '',
    networks: networks?.join(', ') ?? '',
    rate_limit: rateLimit === undefined ? '' : String(rateLimit),
  };
}

/** Returns what the fields were sent with, as typed. */
export function limitTextsSent(form: Visit['form']): LimitTexts {
  return {
    expires_at: textOf(form, 'expires_at'),
    networks: textOf(form, 'networks'),
    rate_limit: textOf(form, 'rate_limit'),
  };
}

/**
 * Returns the fields that ask when a key ends, from where it is accepted and how many requests it may send, with what
 * was wrong.
 */
export function limitFields(texts: LimitTexts, details: readonly FieldMessage[] = []): Html {
  const field = (name: keyof LimitTexts, label: string, hint: string) => ({
    ...{ name, label, hint, value: texts[name], error: messageOf(details, name), autocomplete: 'off' },
  });
  return html`<fieldset>
<legend>Limits</legend>
${momentInputs(field('expires_at', 'Expires', 'From then on, requests are refused with 403. Empty: never.'))}
${input({
  ...field(
    'networks',
    'Networks',
    'Accept the key only from these addresses, separated by commas. Empty: from anywhere.',
  ),
  placeholder: '192.0.2.0/24, 2001:db8::/32',
})}
${input({
  ...field(
    'rate_limit',
    'Requests a minute',
    'Counted for the key instead of the address. Empty: shared with the other keys of the address.',
  ),
  type: 'number',
  min: 1,
})}
</fieldset>`;
}

/**
 * Returns what the fields were sent with, unchecked, for a key that may already have limits; an empty field removes
 * one.
 */
export function limitsSent(form: Visit['form'], key: Partial<ApiKey> = {}): NullableLimits {
  const texts = limitTextsSent(form);
  const parts = texts.networks.split(',').map((part) => part.trim());
  return {
    // Sending back what is shown, without seconds and perhaps of an hour that clocks show twice, would change it.
    expires_at: showsMoment(form, 'expires_at', key.expiresAt)
      ? undefined
      : momentOf(form, 'expires_at') || null,
    networks: parts.filter(Boolean),
    rate_limit: texts.rate_limit === '' ? null : Number(texts.rate_limit),
  };
}

/** Returns from where a key is accepted, and how many requests it may send. */
export function limitsText({ networks, rateLimit }: ApiKey): HtmlValue {
  if (networks === undefined && rateLimit === undefined) return html`<span class="muted">none</span>`;
  const lines = [...(networks ?? []), ...(rateLimit === undefined ? [] : [`${rateLimit} requests a minute`])];
  return lines.join(', ');
}

/** What each permission lets a key do. */
const permissionTexts: Record<WholePermission, string> = {
  write: 'Send records and documents, and remove documents.',
  read: 'Read records, documents and their history.',
  events: 'Read the event stream in full.',
  'events:limited':
    'Read the event stream as a limited data set, without direct identifiers of persons. Requires a data use agreement.',
  'events:deidentified': 'Read the event stream without data that could identify a person.',
  webhooks: 'Create and change webhooks. Sending full events also needs the events permission.',
  audit: 'Read the audit trail, who has seen a record, and the refused requests of all senders.',
  settings:
    'Change the rules of payers, and so what blocks a claim, and decide whether erased records return.',
};

/**
 * Returns the choice of the permissions that the user may give: those for everything, and those for a single kind;
 * `error` is what was wrong with it.
 */
export function permissionFields({ role }: Visit, chosen: readonly Permission[], error?: string): Html {
  const grantable = grantablePermissions(role);
  const isGrantable = (value: Permission) => grantable.includes(value);
  const isChecked = (value: Permission) => chosen.includes(value);
  const isScoped = kindPermissions.some(isChecked);
  return html`${checkboxes(
    'permissions',
    'Permissions',
    permissions.filter(isGrantable).map((value) => ({
      value,
      text: value,
      hint: permissionTexts[value],
      isChecked: isChecked(value),
    })),
    error,
  )}
<details${isScoped && html` open`}><summary>For one kind only, instead of write or read</summary>
${checkboxes(
  'permissions',
  'Permissions for one kind',
  kindPermissions.filter(isGrantable).map((value) => ({ value, text: value, isChecked: isChecked(value) })),
)}
</details>`;
}

/** Returns the permissions that were chosen. */
export function permissionsSent(form: Visit['form']): Permission[] {
  return valuesOf(form, 'permissions').flatMap((value) => permissionSchema.safeParse(value).data ?? []);
}

/** Throws `validation_failed` unless the user may create keys with these permissions. */
export function requireGrantable({ role }: Visit, chosen: readonly Permission[]): void {
  const grantable = grantablePermissions(role);
  const others = chosen.filter((permission) => !grantable.includes(permission));
  if (others.length === 0) return;
  throw invalidField(
    'permissions',
    `Only an administrator can create a key with the permission ${others.join(', ')}.`,
  );
}

export interface KeyChangePorts {
  directory: KeyDirectory;
  webhookDirectory: WebhookDirectory;
}

/** An operation on a key, carried out once its confirmation page has been answered. */
interface KeyChange {
  /** Last segment of its path. */
  name: string;
  button: string;
  /** The title of its form without the key's name, and its button; default: the question derived from `button`. */
  heading?: string;
  submit?: string;
  isDangerous?: boolean;
  /** It changes what the key's page says of it, and is beside that. */
  isOfFact?: true;
  /** What it does. */
  text: string;
  /** What the question asks for, besides the button. */
  fields?(key: ApiKey, ports: KeyChangePorts, details?: readonly FieldMessage[]): Html | Promise<Html>;
  /** Whether it applies to a key in this state. */
  isFor(state: ReturnType<typeof stateOf>, key: ApiKey): boolean;
  make(ports: KeyChangePorts, key: ApiKey, visit: Visit): Promise<Reply>;
}

/** Returns a change of the key's state. */
function toState(state: ApiKey['state']): KeyChange['make'] {
  return async ({ directory }, { id, name }, { workspace, actor, notice }) => {
    await new KeyManager(directory, actor).setKeyState(id, state);
    notice(`API key ${name} is ${state}.`);
    return { redirect: keyPath(workspace, id) };
  };
}

const changes: readonly KeyChange[] = [
  {
    name: 'recipient',
    isOfFact: true,
    button: 'Recipient',
    heading: 'Recipient of the API key',
    submit: 'Save recipient',
    text: 'Earlier reads keep the recipient and purpose that applied at the time.',
    fields: ({ terms }, _ports, details) => termFields(terms, details),
    isFor: (state) => state !== 'deleted',
    async make({ directory }, { id, name }, { form, actor, workspace, notice }) {
      await new KeyManager(directory, actor).updateKey(id, termsSent(form));
      notice(`The recipient and purpose of API key ${name} were changed.`);
      return { redirect: keyPath(workspace, id) };
    },
  },
  {
    name: 'limits',
    isOfFact: true,
    button: 'Limits',
    heading: 'Limits of the API key',
    submit: 'Save limits',
    text: 'Changes apply to new requests.',
    fields: (key, _ports, details) => limitFields(limitTexts(key), details),
    isFor: (state) => state !== 'deleted',
    async make({ directory }, key, { form, actor, workspace, notice }) {
      await new KeyManager(directory, actor).setLimits(key.id, limitsSent(form, key));
      notice(`The limits of API key ${key.name} were changed.`);
      return { redirect: keyPath(workspace, key.id) };
    },
  },
  {
    name: 'public-keys',
    isOfFact: true,
    button: 'Public keys',
    heading: 'Public keys of the API key',
    submit: 'Save public keys',
    text: 'The holder of the private keys can request access tokens for FHIR (SMART Backend Services). The client ID is the ID of the API key.',
    fields: ({ publicKeys = [] }, _ports, details) =>
      textArea({
        ...{ name: 'public_keys', label: 'Public keys', rows: 12, error: messageOf(details, 'public_keys') },
        hint: 'A JWK set or a JWK: P-384 for ES384, or RSA for RS384. Empty: none.',
        value: publicKeys.length > 0 ? JSON.stringify({ keys: publicKeys }, null, 2) : '',
      }),
    isFor: (state) => state !== 'deleted',
    async make({ directory }, { id, name }, { form, actor, workspace, notice }) {
      const text = textOf(form, 'public_keys').trim();
      const keys = text === '' ? [] : parsePublicKeys(parseJson(text));
      await new KeyManager(directory, actor).setPublicKeys(id, keys);
      notice(`The public keys of API key ${name} were changed.`);
      return { redirect: keyPath(workspace, id) };
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
        options: expiryOptions(MAX_ROTATION_SECONDS),
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
    fields: async (key, ports, details) =>
      html`${webhooksField(await enabledWebhooks(key, ports))}${input({
        name: 'name',
        label: 'Type the name of the key to confirm',
        isRequired: true,
        error: messageOf(details, 'name'),
        autocomplete: 'off',
      })}`,
    isFor: (state) => state !== 'deleted',
    async make({ directory, webhookDirectory: webhooks }, key, { form, actor, workspace, notice }) {
      if (textOf(form, 'name') !== key.name.trim()) {
        throw invalidField('name', 'This is not the name of the key. Nothing was deleted.');
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
  return changes.flatMap(({ name, button, heading, submit, text, fields, isDangerous, make }) =>
    confirmedChange({
      roles: integrators,
      path: `/workspaces/:workspace/keys/:id/${name}`,
      find: (visit) => findKey(ports.directory, visit),
      question: async (key, { workspace }, details) => ({
        title: heading === undefined ? `${button} the API key ${key.name}?` : `${heading} ${key.name}`,
        name: key.name,
        section: keysSection,
        breadcrumb: breadcrumb([
          { text: keysSection, path: keysPath(workspace) },
          { text: key.name, path: keyPath(workspace, key.id) },
        ]),
        text: html`${text} The ID of the key is ${code(key.id)}.`,
        fields: await fields?.(key, ports, details),
        button: submit ?? `${button} API key`,
        isDangerous,
        back: keyPath(workspace, key.id),
      }),
      make: (key, visit) => make(ports, key, visit),
    }),
  );
}

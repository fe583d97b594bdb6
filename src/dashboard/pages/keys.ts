import type { PrincipalUse } from '../../../projections/auditAggregation.ts';
import { lastUses } from '../../modules/audit/trail.ts';
import { type ApiKey, stateOf } from '../../modules/auth/apiKeys.ts';
import { KeyManager } from '../../modules/auth/keyManager.ts';
import type { PrincipalNames } from '../../modules/records/queries/principalNames.ts';
import type { QueryPorts } from '../../modules/records/queries/records.ts';
import { formError, input, messageOf, termFields, termsSent, termsText } from '../components/forms.ts';
import {
  type DashboardRoute,
  type Html,
  type HtmlValue,
  html,
  integrators,
  type Page,
  problemOf,
  type Refusal,
  textOf,
  type Visit,
} from '../components/page.ts';
import { who } from '../components/people.ts';
import { type TableColumn, table } from '../components/tables.ts';
import { badge, bdi, code, empty, time, timeAgo } from '../components/text.ts';
import { requestsPath } from '../components/urls.ts';
import {
  type KeyChangePorts,
  keyChanges,
  keyMadeRoutes,
  keysPath,
  keysSection,
  limitFields,
  limitsCell,
  limitsSent,
  limitTextsSent,
  permissionFields,
  permissionsSent,
  requireGrantable,
  toMadeKey,
} from './keyChanges.ts';

/** How long before its end a key is marked: two weeks. */
const SOON_MS = 14 * 86_400_000;

interface KeyPagePorts extends QueryPorts, KeyChangePorts {
  names: PrincipalNames;
}

/** Settings, API keys of a workspace: list, create, and the operations on each. */
export function keysRoutes(ports: KeyPagePorts): DashboardRoute[] {
  const { directory } = ports;
  const path = '/workspaces/:workspace/keys';
  return [
    {
      method: 'get',
      path,
      roles: integrators,
      handle: async ({ workspace }) => ({ page: await listPage(ports, workspace) }),
    },
    {
      method: 'get',
      path: `${path}/new`,
      roles: integrators,
      handle: async (visit) => ({ page: newPage(visit) }),
    },
    {
      method: 'post',
      path: `${path}/new`,
      roles: integrators,
      async handle(visit) {
        const { form, workspace, actor } = visit;
        try {
          const granted = permissionsSent(form);
          requireGrantable(visit, granted);
          const made = await new KeyManager(directory, actor).createKey(
            workspace,
            textOf(form, 'name'),
            granted,
            termsSent(form),
            limitsSent(form),
          );
          return toMadeKey(visit, made);
        } catch (error) {
          return { page: newPage(visit, problemOf(error)) };
        }
      },
    },
    ...keyMadeRoutes(ports),
  ];
}

async function listPage({ directory, names, ...ports }: KeyPagePorts, workspace: string): Promise<Page> {
  await directory.refresh();
  const keys = [...directory.known.keys.values()].filter((key) => key.workspace === workspace).toReversed();
  await names.learn(keys.map(({ createdBy }) => createdBy));
  const uses = await lastUses(ports, workspace);
  const living = keys.filter(({ state }) => state !== 'deleted');
  const deleted = keys.filter(({ state }) => state === 'deleted');
  const columns: TableColumn<ApiKey>[] = [
    { title: 'Name', isHeader: true, cell: ({ id, name }) => html`${bdi(name)}<br>${code(id)}` },
    { title: 'Permissions', cell: ({ permissions }) => permissions.join(', ') || 'none' },
    { title: 'Limits', cell: limitsCell },
    { title: 'Recipient', cell: ({ terms }) => termsText(terms) },
    { title: 'State', cell: (key) => keyState(key) },
    {
      title: 'Created',
      cell: ({ createdAt, createdBy }) =>
        html`${time(createdAt)}<br>by ${who({ ...createdBy, name: names.nameOf(createdBy) ?? null })}`,
    },
    { title: 'Last used', cell: (key) => lastUse(workspace, key, uses.get(key.id)) },
  ];
  return {
    title: keysSection,
    section: keysSection,
    body: html`<h1>API keys</h1>
<p>Systems send an API key with every request. It gives access only to the workspace ${code(workspace)}. Only a digest is stored, so a key is shown once, when it is created.</p>
<p><a role="button" href="/dashboard${keysPath(workspace)}/new">Create API key</a></p>
${
  living.length === 0
    ? empty('No API keys in this workspace. Create one to send the first record.')
    : table('API keys', [...columns, actionsColumn(workspace)], living)
}
${
  deleted.length > 0 &&
  html`<details><summary>Deleted keys (${deleted.length})</summary>${table('Deleted API keys', columns, deleted)}</details>`
}`,
  };
}

function keyState(key: ApiKey): Html {
  const state = stateOf(key, Date.now());
  return html`${badge(state, state === 'active' ? 'good' : 'bad')}${state === 'active' && keyEnd(key)}${
    key.replacedBy && html`<br>replaced by ${code(key.replacedBy)}`
  }`;
}

/** Returns when a key ends; marked when that is soon and no other key replaces it. */
function keyEnd({ expiresAt, replacedBy }: ApiKey): Html | undefined {
  if (expiresAt === undefined) return undefined;
  const isSoon = replacedBy === undefined && Date.parse(expiresAt) - Date.now() < SOON_MS;
  return html`<br>${isSoon ? badge('expires soon', 'bad') : 'expires'} ${timeAgo(expiresAt)}`;
}

/** Returns when a key was last used, with a link to its refused requests. */
function lastUse(workspace: string, { id, name }: ApiKey, use: PrincipalUse | undefined): HtmlValue {
  if (use === undefined) return 'never';
  const path = requestsPath(workspace, { key: id });
  return html`${timeAgo(use.at)}${use.code && html`<br>refused: ${use.code}`}
<br><a href="/dashboard${path}" aria-label="Refused requests of ${name}">Refused requests</a>`;
}

/** Returns the operations on a key, as links to confirmation pages. */
function actionsColumn(workspace: string): TableColumn<ApiKey> {
  return {
    title: 'Actions',
    isTitleHidden: true,
    cell: (key) =>
      html`<div class="actions">${keyChanges(key).map(
        ({ name, button }) =>
          html`<a href="/dashboard${keysPath(workspace)}/${key.id}/${name}" aria-label="${button} ${key.name}">${button}</a>`,
      )}</div>`,
  };
}

/** Returns the form for a new key; after a refusal, with what is wrong with it. */
function newPage(visit: Visit, refusal?: Refusal): Page {
  const { workspace, csrf, form } = visit;
  const back = `/dashboard${keysPath(workspace)}`;
  return {
    title: 'Create API key',
    section: keysSection,
    ...(refusal && { status: refusal.status }),
    body: html`<h1>Create API key</h1>
<p>The key gives access only to the workspace ${code(workspace)}.</p>
${formError(refusal?.text)}
<form method="post" action="${back}/new">${csrf}
${input({
  name: 'name',
  label: 'Name',
  value: textOf(form, 'name'),
  isRequired: true,
  autocomplete: 'off',
  hint: 'A name that people recognize, such as the system that uses the key.',
})}
${permissionFields(visit, refusal ? permissionsSent(form) : ['write'], messageOf(refusal?.details, 'permissions'))}
${limitFields(limitTextsSent(form), refusal?.details)}
${termFields(termsSent(form), refusal?.details)}
<div class="actions"><button type="submit">Create API key</button>
<a role="button" class="outline secondary" href="${back}">Cancel</a></div>
</form>`,
  };
}

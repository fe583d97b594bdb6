import type { PrincipalUse } from '../../../projections/auditAggregation.ts';
import { lastUses } from '../../modules/audit/trail.ts';
import { type ApiKey, stateOf } from '../../modules/auth/apiKeys.ts';
import { KeyManager } from '../../modules/auth/keyManager.ts';
import type { PrincipalNames } from '../../modules/records/queries/principalNames.ts';
import type { QueryPorts } from '../../modules/records/queries/records.ts';
import { formError, input, messageOf, termFields, termsSent, termsText } from '../components/forms.ts';
import { wordsOf } from '../components/labels.ts';
import { breadcrumb } from '../components/layout.ts';
import { filteredByName, nameParameter } from '../components/nameFilter.ts';
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
import { definitionList, type TableColumn, table } from '../components/tables.ts';
import { badge, bdi, code, empty, time, timeAgo, wholeOnHovering } from '../components/text.ts';
import { requestsPath } from '../components/urls.ts';
import {
  findKey,
  type KeyChangePorts,
  keyChanges,
  keyMadeRoutes,
  keyPath,
  keysPath,
  keysSection,
  limitFields,
  limitsSent,
  limitsText,
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
      query: [nameParameter],
      handle: async (visit) => ({ page: await listPage(ports, visit) }),
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
    {
      method: 'get',
      path: `${path}/:id`,
      roles: integrators,
      handle: async (visit) => ({ page: await keyPage(ports, visit) }),
    },
  ];
}

async function listPage({ directory, ...ports }: KeyPagePorts, { req, workspace }: Visit): Promise<Page> {
  await directory.refresh();
  const keys = directory.keysOf(workspace).toReversed();
  const { items, filter, none } = filteredByName(
    req,
    `/dashboard${keysPath(workspace)}`,
    keys,
    ({ name }) => name,
  );
  const uses = await lastUses(ports, workspace);
  const living = items.filter(({ state }) => state !== 'deleted');
  const deleted = items.filter(({ state }) => state === 'deleted');
  const columns: TableColumn<ApiKey>[] = [
    {
      title: 'Name',
      ...{ isHeader: true, isCut: true },
      cell: ({ id, name }) =>
        html`<a href="/dashboard${keyPath(workspace, id)}" title="${name}">${bdi(name)}</a>`,
    },
    { title: 'ID', cell: ({ id }) => code(id) },
    {
      title: 'Permissions',
      isCut: true,
      cell: ({ permissions }) => wholeOnHovering(permissions.join(', ') || 'none'),
    },
    { title: 'State', cell: keyState },
    { title: 'Last used', cell: ({ id }) => lastUse(uses.get(id)) },
    { title: 'Created', cell: ({ createdAt }) => time(createdAt) },
  ];
  return {
    title: keysSection,
    section: keysSection,
    body: html`<div class="page-head"><h1>API keys</h1><div class="actions"><a role="button" href="/dashboard${keysPath(workspace)}/new">Create API key</a></div></div>
<p>Systems send an API key with every request. It gives access only to the workspace ${code(workspace)}. Only a digest is stored, so a key is shown once, when it is created.</p>
${filter}
${
  living.length === 0
    ? (none ??
      empty(
        items.length < keys.length
          ? 'Only deleted keys have this name.'
          : 'No API keys in this workspace. Create one to send the first record.',
      ))
    : html`<div class="dense">${table('API keys', columns, living)}</div>`
}
${
  deleted.length > 0 &&
  html`<details><summary>Deleted keys (${deleted.length})</summary>${table('Deleted API keys', columns, deleted)}</details>`
}`,
  };
}

function keyState(key: ApiKey): Html {
  const state = stateOf(key, Date.now());
  return html`${badge(state, state === 'active' ? 'good' : 'bad')}${(state === 'active' || state === 'expired') && keyEnd(key)}${
    key.replacedBy && html` ${badge('replaced', 'neutral')}`
  }`;
}

/** Returns when a key ends, or ended; marked when that is soon and no other key replaces it. */
function keyEnd({ expiresAt, replacedBy }: ApiKey): Html | undefined {
  if (expiresAt === undefined) return undefined;
  const left = Date.parse(expiresAt) - Date.now();
  if (left <= 0) return html` ${timeAgo(expiresAt)}`;
  const isSoon = replacedBy === undefined && left < SOON_MS;
  return html` ${isSoon ? badge('expires soon', 'bad') : 'expires'} ${timeAgo(expiresAt)}`;
}

/** Returns when a key was last used, and whether that was refused. */
function lastUse(use: PrincipalUse | undefined): HtmlValue {
  if (use === undefined) return html`<span class="muted">never</span>`;
  return html`${timeAgo(use.at)}${use.code && html` ${badge(`refused: ${wordsOf(use.code)}`, 'bad')}`}`;
}

/** Returns the page of a key: what there is to know about it, each with the change of it. */
async function keyPage({ directory, names, ...ports }: KeyPagePorts, visit: Visit): Promise<Page> {
  const { workspace } = visit;
  await directory.refresh();
  const key = findKey(directory, visit);
  const { id, name, permissions, terms, publicKeys = [], createdAt, createdBy, replacedBy } = key;
  const [uses] = await Promise.all([lastUses(ports, workspace), names.learn([createdBy])]);
  const changes = keyChanges(key);
  const link = (change: (typeof changes)[number], text: string, role?: Html) =>
    html`<a href="/dashboard${keyPath(workspace, id)}/${change.name}"${role} aria-label="${text}${text !== change.button && `: ${change.button}`} ${name}">${text}</a>`;
  const changed = (of: string, value: HtmlValue) => {
    const change = changes.find((one) => one.name === of);
    return html`${value}${change && html` ${link(change, 'Change')}`}`;
  };
  const actions = changes
    .filter(({ isOfFact }) => !isOfFact)
    .map((change) =>
      link(
        change,
        change.button,
        html` role="button" class="outline ${change.isDangerous ? 'danger' : 'secondary'}"`,
      ),
    );
  const refused = requestsPath(workspace, { key: id });
  return {
    title: name,
    section: keysSection,
    body: html`${breadcrumb([{ text: keysSection, path: keysPath(workspace) }])}
<div class="page-head"><h1>${bdi(name)}</h1><div class="actions">${actions}</div></div>
${definitionList([
  ['ID', code(id)],
  ['State', keyState(key)],
  ...(replacedBy === undefined
    ? []
    : [
        [
          'Replaced by',
          html`<a href="/dashboard${keyPath(workspace, replacedBy)}">${code(replacedBy)}</a>`,
        ] as const,
      ]),
  ['Permissions', permissions.join(', ') || 'none'],
  ['Limits', changed('limits', limitsText(key))],
  ['Recipient', changed('recipient', termsText(terms))],
  [
    'Public keys',
    changed(
      'public-keys',
      publicKeys.length === 0 ? html`<span class="muted">none</span>` : `${publicKeys.length} registered`,
    ),
  ],
  [
    'Last used',
    html`${lastUse(uses.get(id))} <a href="/dashboard${refused}" aria-label="Refused requests of ${name}">Refused requests</a>`,
  ],
  ['Created', html`${time(createdAt)} by ${who({ ...createdBy, name: names.nameOf(createdBy) ?? null })}`],
])}`,
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
    body: html`${breadcrumb([{ text: keysSection, path: keysPath(workspace) }])}
<h1>Create API key</h1>
<p>The key gives access only to the workspace ${code(workspace)}.</p>
${formError(refusal)}
<form method="post" action="${back}/new">${csrf}
${input({
  name: 'name',
  label: 'Name',
  value: textOf(form, 'name'),
  isRequired: true,
  error: messageOf(refusal?.details, 'name'),
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

import { retentionText, stateOf, type Workspace } from '../../modules/auth/apiKeys.ts';
import type { KeyDirectory } from '../../modules/auth/keyDirectory.ts';
import { KeyManager } from '../../modules/auth/keyManager.ts';
import { checkboxes, confirmedChange, formError, input, messageOf } from '../components/forms.ts';
import { breadcrumb } from '../components/layout.ts';
import {
  admins,
  type DashboardRoute,
  type Html,
  html,
  type Page,
  problemOf,
  type Refusal,
  textOf,
  type Visit,
  valuesOf,
} from '../components/page.ts';
import { table } from '../components/tables.ts';
import { badge, empty, time } from '../components/text.ts';
import { holdsPath } from '../components/urls.ts';

interface WorkspacePagePorts {
  directory: KeyDirectory;
  retentionYears: number | undefined;
}

const section = 'Workspaces';

/** Settings, Workspaces: list, create, deactivate, activate. */
export function workspacesRoutes(ports: WorkspacePagePorts): DashboardRoute[] {
  const { directory } = ports;
  const list = async (visit: Visit, refusal?: Refusal) => {
    await directory.refresh();
    return { page: listPage(ports, visit, refusal) };
  };
  return [
    { method: 'get', path: '/workspaces', roles: admins, handle: (visit) => list(visit) },
    {
      method: 'post',
      path: '/workspaces',
      roles: admins,
      async handle(visit) {
        const id = textOf(visit.form, 'id');
        const sandbox = isSandbox(visit.form);
        try {
          await new KeyManager(directory, visit.actor).createWorkspace(id, { sandbox });
        } catch (error) {
          return list(visit, problemOf(error));
        }
        visit.notice(`Workspace ${id} was created. It needs a key.`);
        return { redirect: `/workspaces/${id}/keys` };
      },
    },
    ...stateRoutes(directory, 'deactivate'),
    ...stateRoutes(directory, 'activate'),
  ];
}

function isSandbox(form: Visit['form']): boolean {
  return valuesOf(form, 'sandbox').length > 0;
}

function listPage(ports: WorkspacePagePorts, { csrf, form }: Visit, refusal?: Refusal): Page {
  const workspaces = [...ports.directory.known.workspaces.values()];
  return {
    title: 'Workspaces',
    section,
    ...(refusal && { status: refusal.status }),
    body: html`<h1>Workspaces</h1>
<p>Each workspace has its own records and API keys. Workspaces share nothing. <a href="/dashboard/overview">Activity of all workspaces</a></p>
${workspaces.length === 0 ? empty('No workspaces yet. Create the first one below.') : workspaceTable(ports, workspaces)}
<h2>Create a workspace</h2>
${formError(refusal)}
<form method="post" action="/dashboard/workspaces">${csrf}
${input({
  name: 'id',
  label: 'ID',
  value: textOf(form, 'id'),
  isRequired: true,
  error: messageOf(refusal?.details, 'id'),
  autocomplete: 'off',
  hint: '2 to 40 characters: lowercase letters, digits and underscores. It cannot be changed later.',
})}
${checkboxes('sandbox', 'Use', [
  {
    value: 'yes',
    text: 'Sandbox, for tests',
    hint: 'Its keys begin with clk_test_, and it can be emptied. This cannot be changed later.',
    isChecked: isSandbox(form),
  },
])}
<div class="actions"><button type="submit">Create workspace</button></div>
</form>`,
  };
}

function workspaceTable({ directory, retentionYears }: WorkspacePagePorts, workspaces: Workspace[]): Html {
  const now = Date.now();
  const inUse = [...directory.known.keys.values()].filter((key) => stateOf(key, now) === 'active');
  const keyCount = (id: string) => inUse.filter(({ workspace }) => workspace === id).length;
  return table(
    'Workspaces',
    [
      {
        title: 'Workspace',
        isHeader: true,
        cell: ({ id, sandbox }) =>
          html`<a href="/dashboard/workspaces/${id}">${id}</a>${sandbox && html` ${badge('Sandbox', 'neutral')}`}`,
      },
      { title: 'State', cell: ({ state }) => badge(state, state === 'active' ? 'good' : 'bad') },
      {
        title: 'Active keys',
        isNumber: true,
        cell: ({ id }) =>
          html`<a href="/dashboard/workspaces/${id}/keys">${keyCount(id)}<span class="visually-hidden"> active keys of ${id}</span></a>`,
      },
      { title: 'Created', cell: ({ createdAt }) => time(createdAt) },
      {
        title: 'Retention',
        cell: ({ retention = 'default' }) => retentionText(retention, retentionYears),
      },
      {
        title: 'Unchanged records',
        cell: ({ unchanged }) => (unchanged === 'skip' ? 'skipped' : 'recorded as versions'),
      },
      {
        title: 'Actions',
        isTitleHidden: true,
        cell: ({ id, state, deletion }) => {
          const trail = html`<a href="/dashboard/workspaces/${id}/audit" aria-label="Audit trail of ${id}">Audit trail</a>`;
          if (deletion) return trail;
          const action = state === 'active' ? 'deactivate' : 'activate';
          const label = state === 'active' ? 'Deactivate' : 'Activate';
          return html`<a href="/dashboard${holdsPath(id)}" aria-label="Legal holds of ${id}">Legal holds</a> <a href="/dashboard/workspaces/${id}/settings" aria-label="Settings of ${id}">Settings</a> <a href="/dashboard/workspaces/${id}/${action}" aria-label="${label} ${id}">${label}</a>`;
        },
      },
    ],
    workspaces,
  );
}

const stateChanges = {
  deactivate: {
    state: 'deactivated',
    title: 'Deactivate workspace',
    text: 'Until you activate it again, every key of the workspace is refused with 403 and its webhooks send nothing. No data is lost.',
    isDangerous: true,
  },
  activate: {
    state: 'active',
    title: 'Activate workspace',
    text: 'The active keys of the workspace work again, and its webhooks continue where they stopped.',
    isDangerous: false,
  },
} as const;

function stateRoutes(directory: KeyDirectory, name: keyof typeof stateChanges): DashboardRoute[] {
  const { state, title, text, isDangerous } = stateChanges[name];
  return confirmedChange({
    path: `/workspaces/:workspace/${name}`,
    isInstallationWide: true,
    find: ({ workspace }) => workspace,
    question: (workspace) => ({
      title: `${title} ${workspace}?`,
      section,
      breadcrumb: breadcrumb([{ text: section, path: '/workspaces' }]),
      text,
      button: title,
      isDangerous,
      back: '/workspaces',
    }),
    async make(workspace, { actor, notice }) {
      await new KeyManager(directory, actor).setWorkspaceState(workspace, state);
      notice(`Workspace ${workspace} is ${state}.`);
      return { redirect: '/workspaces' };
    },
  });
}

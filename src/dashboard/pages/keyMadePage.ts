import type { KeyDirectory } from '../../modules/auth/KeyDirectory.ts';
import { limitSentences } from '../../modules/auth/keyLimits.ts';
import { type ApiKey, limitsOfKey } from '../../modules/auth/keyState.ts';
import { type Html, html } from '../components/html.ts';
import { type DashboardRoute, integrators, type Page, type Reply, type Visit } from '../components/route.ts';
import { code, secretOnce, time } from '../components/text.ts';
import { showOnce, takeShownOnce } from '../http/shownOnce.ts';
import { findKey } from './findKey.ts';

export const keysSection = 'API keys';

/** Returns the address of a workspace's keys, below `/dashboard`. */
export function keysPath(workspace: string): string {
  return `/workspaces/${workspace}/keys`;
}

interface MadeKey {
  id: string;
  workspace: string;
  key: string;
}

const madePath = ({ id, workspace }: Pick<MadeKey, 'id' | 'workspace'>) =>
  `${keysPath(workspace)}/${id}/made`;

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
        const shown = takeShownOnce<{ key: string }>(visit, madePath(made));
        if (shown) return { page: keyMadePage(made, shown.key, directory) };
        visit.notice(
          `API key ${made.name} was shown once and is not stored. If nobody copied it, rotate or delete it.`,
        );
        return { redirect: keysPath(made.workspace) };
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
<p>${name} (${code(id)}), permissions: ${permissions.join(', ')}. ${whenItWorks(previous)} ${limitSentences(limitsOfKey(made)).join(' ')}</p>
<p><a role="button" class="outline secondary" href="/dashboard${keysPath(workspace)}">Back to API keys</a></p>`,
  };
}

/** `previous` is the key that it replaces. */
function whenItWorks(previous: ApiKey | undefined): Html {
  if (previous?.expiresAt === undefined) return html`It works immediately.`;
  return html`It replaces ${code(previous.id)}, which is refused from ${time(previous.expiresAt)} on.`;
}

import type { KeyDirectory } from '../../principals/keys/KeyDirectory.ts';
import { type DashboardRoute, everyone } from '../shell/route.ts';

/** `/dashboard`: leads to the workspace viewed last, or to the first one. */
export function homeRoutes({ directory }: { directory: KeyDirectory }): DashboardRoute[] {
  return [
    {
      method: 'get',
      path: '/',
      roles: everyone,
      async handle({ req, user }) {
        const { workspaces } = directory.known;
        const { workspace = '' } = req.session;
        const [first] = workspaces.keys();
        const chosen = workspaces.has(workspace) ? workspace : first;
        if (chosen !== undefined) return { redirect: `/workspaces/${chosen}` };
        return { redirect: user.role === 'admin' ? '/workspaces' : '/reference' };
      },
    },
  ];
}

import type { AccessDirectory } from '../../access/keys/AccessDirectory.ts';
import { type DashboardRoute, everyone } from '../shell/route.ts';

/** `/dashboard`: leads to the workspace that was looked at last, or the first one. */
export function homeRoutes({ directory }: { directory: AccessDirectory }): DashboardRoute[] {
  return [
    {
      method: 'get',
      path: '/',
      access: everyone,
      async handle({ req, user }) {
        const { workspaces } = directory.access;
        const { workspace = '' } = req.session;
        const [first] = workspaces.keys();
        const chosen = workspaces.has(workspace) ? workspace : first;
        if (chosen !== undefined) return { redirect: `/workspaces/${chosen}` };
        return { redirect: user.role === 'admin' ? '/workspaces' : '/reference' };
      },
    },
  ];
}

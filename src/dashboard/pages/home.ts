import type { KeyDirectory } from '../../modules/auth/KeyDirectory.ts';
import { isAdministrator } from '../../modules/auth/user.ts';
import type { DashboardRoute } from '../components/route.ts';
import { workspacesOf } from '../http/visit.ts';

/** `/dashboard`: leads to the workspace viewed last, or to the first one. */
export function homeRoutes({ directory }: { directory: KeyDirectory }): DashboardRoute[] {
  return [
    {
      method: 'get',
      path: '/',
      roles: 'signed-in',
      async handle({ req, user }) {
        const ids = workspacesOf(directory, user).map(({ id }) => id);
        const { workspace = '' } = req.session;
        const chosen = ids.includes(workspace) ? workspace : ids[0];
        if (chosen !== undefined) return { redirect: `/workspaces/${chosen}` };
        return { redirect: isAdministrator(user) ? '/workspaces' : '/reference' };
      },
    },
  ];
}

import { statusOf } from '../../api/server/errorAnswer.ts';
import { INSTALLATION } from '../../domain/events/streamNames.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { type Role, roleIn } from '../../modules/auth/user.ts';
import { type ErrorCode, ServiceError } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { type DashboardRoute, scopeOf, type Visit } from '../components/route.ts';

/**
 * Resolves if the user's role may open a page. Otherwise records that in the audit trail of the workspace in the path,
 * if `isThere`, or of the installation, and rejects: with `not_found` where the user has no role in that workspace, as
 * for one that does not exist, otherwise with `permission_denied`. Rejects with `unavailable` when it cannot be recorded.
 */
export async function requireRole(
  eventLog: EventLog,
  visit: Visit,
  route: DashboardRoute & { roles: readonly Role[] },
  isThere: boolean,
): Promise<void> {
  const { user, actor, requestId, req } = visit;
  const role = roleIn(user, scopeOf(route, req));
  if (role !== undefined && route.roles.includes(role)) return;
  const named = req.params.workspace as string | undefined;
  const isHidden = named !== undefined && roleIn(user, named) === undefined;
  const code: ErrorCode = isHidden ? 'not_found' : 'permission_denied';
  await recordAccess(
    eventLog,
    { ...actor, requestId, workspace: named !== undefined && isThere ? named : INSTALLATION },
    {
      action: 'request.refused',
      outcome: 'refused',
      code: 'permission_denied',
      method: req.method,
      route: `/dashboard${route.path}`,
      status: statusOf[code],
    },
  );
  throw new ServiceError(code, isHidden ? NO_WORKSPACE : whyNot(role));
}

export const NO_WORKSPACE = 'There is no such workspace.';

function whyNot(role: Role | undefined): string {
  if (role === undefined) return 'Only users with a role in all workspaces can view this page.';
  return `The role ${role} cannot view this page.`;
}

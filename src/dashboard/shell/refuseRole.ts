import { recordAccess } from '../../audit/recordAccess.ts';
import { ServiceError } from '../../errors.ts';
import { INSTALLATION } from '../../events/streamNames.ts';
import { statusOf } from '../../http/server/errorAnswer.ts';
import type { EventLog } from '../../ports/eventLog.ts';
import type { DashboardRoute, Visit } from './route.ts';

/**
 * Refuses a page that the user's role may not see, with `permission_denied`, and records that in the audit trail of
 * the workspace to which the page belongs, otherwise of the installation. Rejects with `unavailable` when it cannot
 * be recorded.
 */
export async function refuseRole(
  eventLog: EventLog,
  { user, actor, requestId, req }: Visit,
  route: DashboardRoute,
  workspace: string = INSTALLATION,
): Promise<never> {
  const code = 'permission_denied';
  await recordAccess(
    eventLog,
    { ...actor, requestId, workspace },
    {
      action: 'request.refused',
      outcome: 'refused',
      code,
      method: req.method,
      route: `/dashboard${route.path}`,
      status: statusOf[code],
    },
  );
  throw new ServiceError(code, `The role ${user.role} cannot view this page.`);
}

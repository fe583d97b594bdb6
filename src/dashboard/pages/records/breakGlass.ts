import { pathId } from '../../../api/schemas/parameters.ts';
import { recordAccess } from '../../../modules/audit/recordAccess.ts';
import type { KeyDirectory } from '../../../modules/auth/keyDirectory.ts';
import { requireReason } from '../../../modules/erasure/holdState.ts';
import { ServiceError } from '../../../platform/errors.ts';
import type { EventLog } from '../../../storage/eventLog.ts';
import {
  type DashboardRoute,
  everyone,
  problemOf,
  type Reply,
  recordReaders,
  textOf,
  type Visit,
} from '../../components/page.ts';
import { kindOf } from '../../components/recordTable.ts';
import { recordPath } from '../../components/urls.ts';
import { allowsBreakGlass, breakGlassPage, openRecord } from '../../http/breakGlass.ts';
import { stateReason } from '../../http/session.ts';

interface BreakGlassPorts {
  eventLog: EventLog;
  directory: Pick<KeyDirectory, 'known'>;
}

/**
 * `…/records/{kinds}/{id}/break-glass`: opens a record for a user whose role does not, with a reason, which is in the audit trail
 * before anything is shown.
 */
export function breakGlassRoutes(ports: BreakGlassPorts): DashboardRoute[] {
  return [
    {
      method: 'post',
      path: '/workspaces/:workspace/records/:kind/:id/break-glass',
      page: '/workspaces/:workspace/records/:kind/:id',
      roles: everyone,
      isSensitive: true,
      handle: (visit) => breakGlass(ports, visit),
    },
  ];
}

async function breakGlass({ eventLog, directory }: BreakGlassPorts, visit: Visit): Promise<Reply> {
  const { req, workspace, caller, role, form, may, notice } = visit;
  const entry = kindOf(req.params.kind);
  const id = pathId(req, 'id', entry.title);
  const path = recordPath(workspace, entry.kind, id);
  if (may(recordReaders)) return { redirect: path };
  const refused = new ServiceError('permission_denied', `The role ${role} cannot view this page.`);
  if (!allowsBreakGlass(directory, workspace)) throw refused;
  let reason: string;
  try {
    reason = requireReason(textOf(form, 'reason'));
  } catch (error) {
    return { page: breakGlassPage(visit, refused, problemOf(error)) };
  }
  const until = await openRecord(visit, (until) =>
    recordAccess(
      eventLog,
      { ...caller, isReasonRequired: false },
      {
        action: 'record.break_glass',
        ...{ kind: entry.kind, record_id: id, query: { reason, until } },
      },
    ),
  );
  stateReason(visit, reason);
  notice(`This record is open to you until ${until.slice(11, 16)} UTC. The audit trail has your reason.`);
  return { redirect: path };
}

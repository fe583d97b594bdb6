import type { JsonObject, NewEvent } from '../ports/eventLog.ts';
import type { Principal } from '../records/eventMetadata.ts';
import { currentVersion } from '../records/upcast.ts';

/** Who asks, for which workspace, in which request. */
export interface Caller {
  workspace: string;
  principal: Principal;
  requestId: string;
  clientIp?: string;
  userAgent?: string;
}

/** The one event of the caller's request: it bears the request's id, so that either leads to the other. */
export function newEvent(caller: Caller, type: string, data: JsonObject): NewEvent {
  const { workspace, principal, requestId, clientIp, userAgent } = caller;
  return {
    id: requestId,
    type,
    data,
    metadata: {
      workspace,
      principal,
      requestId,
      ...(clientIp !== undefined && { clientIp }),
      ...(userAgent !== undefined && { userAgent }),
      $correlationId: requestId,
      schemaVersion: currentVersion(type),
    },
  };
}

import { v7 as uuidv7 } from 'uuid';
import type { JsonObject, NewEvent } from '../ports/eventLog.ts';
import type { Principal } from '../records/eventMetadata.ts';

/** Who asks, for which workspace, in which request. */
export interface Caller {
  workspace: string;
  principal: Principal;
  requestId: string;
  clientIp?: string;
  userAgent?: string;
}

/** An event of the caller's workspace, with a time-ordered id of its own. */
export function newEvent(caller: Caller, type: string, data: JsonObject): NewEvent {
  const { workspace, principal, requestId, clientIp, userAgent } = caller;
  return {
    id: uuidv7(),
    type,
    data,
    metadata: {
      workspace,
      principal,
      requestId,
      ...(clientIp !== undefined && { clientIp }),
      ...(userAgent !== undefined && { userAgent }),
      $correlationId: requestId,
      schemaVersion: 1,
    },
  };
}

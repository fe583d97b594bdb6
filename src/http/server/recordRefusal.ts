import { recordAccess } from '../../audit/recordAccess.ts';
import type { ServiceError } from '../../errors.ts';
import type { EventLog } from '../../ports/eventLog.ts';
import { statusOf } from './errorAnswer.ts';
import { callerOf, type Exchange } from './exchange.ts';
import type { ServedEndpoint } from './serveEndpoint.ts';

/**
 * Appends to the audit trail that a request of a known key was refused, and why. Requests without one, and those that
 * failed for the service's own reasons, are passed over. Rejects with `unavailable`.
 */
export async function recordRefusal(
  eventLog: EventLog,
  { route, subject }: ServedEndpoint,
  exchange: Exchange,
  { code }: ServiceError,
): Promise<void> {
  if (exchange.found === undefined || statusOf[code] >= 500) return;
  await recordAccess(eventLog, callerOf(exchange), {
    action: 'request.refused',
    outcome: 'refused',
    code,
    method: exchange.req.method,
    route,
    ...subject?.(exchange),
  });
}

import { recordAccess } from '../../modules/audit/recordAccess.ts';
import type { ServiceError } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { statusOf } from './errorAnswer.ts';
import { callerOf, type Exchange } from './exchange.ts';
import { failingFields } from './failingFields.ts';
import type { ServedEndpoint } from './serveEndpoint.ts';

/**
 * Appends to the audit trail that a request with a known key was refused, why, and for which fields. Requests without
 * one, and those that failed for the service's own reasons, are skipped. Rejects with `unavailable`.
 */
export async function recordRefusal(
  eventLog: EventLog,
  { route, subject, fields: known }: ServedEndpoint,
  exchange: Exchange,
  { code, details }: ServiceError,
): Promise<void> {
  const status = statusOf[code];
  if (exchange.found === undefined || status >= 500) return;
  const fields = failingFields(details, known);
  await recordAccess(eventLog, callerOf(exchange), {
    action: 'request.refused',
    outcome: 'refused',
    code,
    method: exchange.req.method,
    route,
    status,
    ...(fields.length > 0 && { fields }),
    ...subject?.(exchange),
  });
}

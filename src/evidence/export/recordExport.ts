import { recordAccess } from '../../audit/recordAccess.ts';
import type { Position } from '../../events/event.ts';
import type { Caller } from '../../events/newEvent.ts';
import type { EventLog } from '../../ports/eventLog.ts';
import { eventTypesOf } from '../../records/eventSubject.ts';
import type { ExportJob } from './exportEvents.ts';

/**
 * Adds to the audit trail that everything from a position on is exported. Returns where the export ends: with that entry. Rejects
 * with `unavailable`.
 */
export async function recordExport(
  eventLog: EventLog,
  caller: Caller,
  { filters, format }: ExportJob,
  from: Position,
): Promise<Position> {
  const asked = Object.entries({ ...filters, format }).filter(([, value]) => value !== null);
  const shown = {
    ranges: [{ from, to: await eventLog.head() }],
    ...(filters.kind !== null && { event_types: eventTypesOf(filters.kind) }),
  };
  return recordAccess(eventLog, caller, { action: 'export', query: Object.fromEntries(asked), shown });
}

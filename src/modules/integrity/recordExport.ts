import type { Position } from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import type { Shown } from '../../domain/events/shown.ts';
import { eventTypesOf } from '../../domain/records/eventSubject.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { type AccessRecorded, recordAccess, recordFurtherAccess } from '../audit/recordAccess.ts';

import { type ExportJob, isLimitedByTime } from './manifest.ts';

/**
 * Adds an export from a position on to the audit trail. Returns where the export ends: with that entry. The entry states that
 * everything up to it is exported, except for an export limited by time: see `recordExported`. Rejects with `unavailable`.
 */
export async function recordExport(
  eventLog: EventLog,
  caller: Caller,
  job: ExportJob,
  from: Position,
): Promise<Position> {
  if (isLimitedByTime(job.filters)) return recordAccess(eventLog, caller, accessOf(job));
  return recordAccess(eventLog, caller, accessOf(job, { ranges: [{ from, to: await eventLog.head() }] }));
}

/** Adds events that an export limited by time is about to write to the audit trail. Rejects with `unavailable`. */
export async function recordExported(
  eventLog: EventLog,
  caller: Caller,
  job: ExportJob,
  written: Pick<Shown, 'ranges' | 'count'>,
): Promise<void> {
  await recordFurtherAccess(eventLog, caller, accessOf(job, written));
}

function accessOf({ filters, format }: ExportJob, written?: Pick<Shown, 'ranges' | 'count'>): AccessRecorded {
  const asked = Object.entries({ ...filters, format }).filter(([, value]) => value !== null);
  const types = filters.kind === null ? {} : { event_types: eventTypesOf(filters.kind) };
  const query = Object.fromEntries(asked);
  return { action: 'export', query, ...(written && { shown: { ...written, ...types } }) };
}

import type { EventLog } from '../ports/eventLog.ts';
import type { RecordKind } from '../records/catalog.ts';
import { auditStream } from '../records/streamNames.ts';
import { type Caller, newEvent } from './caller.ts';

/** What was done with data that is protected; the names say all of it. */
export type AccessAction =
  | 'record.read'
  | 'record.list'
  | 'record.history'
  | 'document.list'
  | 'document.download'
  | 'document.history'
  | 'events.read'
  | 'events.subscribe'
  | 'export'
  | 'verify';

/** Data of `AccessRecorded`: what of the workspace's data was read. */
export interface AccessRecorded {
  action: AccessAction;
  kind?: RecordKind | 'document';
  /** The caller's id of the record; of a document, that of its encounter. */
  record_id?: string;
  document_id?: string;
  /** What was asked for beyond that, such as `version`, `as_of` or `limit`, as asked. */
  query?: Record<string, unknown>;
}

/**
 * Appends one `AccessRecorded` to the workspace's audit stream of the day. Awaited before the data leave the service:
 * what could not be written into the audit trail is not read. Rejects with `unavailable`.
 */
export async function recordAccess(
  eventLog: EventLog,
  caller: Caller,
  access: AccessRecorded,
): Promise<void> {
  const today = new Date().toISOString().slice(0, 10);
  const event = newEvent(caller, 'AccessRecorded', { ...access });
  await eventLog.append(auditStream(caller.workspace, today), event, 'any');
}

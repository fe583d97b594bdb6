import type { ErrorCode } from '../errors.ts';
import type { EventLog } from '../ports/eventLog.ts';
import type { RecordKind } from '../records/catalog.ts';
import { auditStream } from '../records/streamNames.ts';
import { type Caller, newActorEvent, newEvent } from './caller.ts';

/** Everything that is recorded beside changes: reads of protected data, refused requests, sign-ins. */
export const accessActions = [
  'record.read',
  'record.list',
  'record.history',
  'document.list',
  'document.download',
  'document.history',
  'events.read',
  'events.subscribe',
  'export',
  'verify',
  'audit.read',
  'audit.export',
  'request.refused',
  'sign_in',
  'sign_in.refused',
  'sign_out',
] as const;
export type AccessAction = (typeof accessActions)[number];

/** Why a sign-in was refused. */
export type SignInRefusal = 'wrong_password' | 'unknown_user' | 'user_disabled' | 'no_role' | 'rate_limited';

/** What a request was about. */
export interface AccessSubject {
  kind?: RecordKind | 'document';
  /** The caller's id of the record; of a document, that of its encounter. */
  record_id?: string;
  document_id?: string;
}

/** Data of `AccessRecorded`. */
export interface AccessRecorded extends AccessSubject {
  action: AccessAction;
  /** What was asked for beyond the subject, such as `version`, `as_of` or `limit`, as asked. */
  query?: Record<string, unknown>;
  outcome?: 'refused';
  /** Why it was refused: there whenever it was. */
  code?: ErrorCode | SignInRefusal;
  /** Of a refused request; the route is its template. */
  method?: string;
  route?: string;
}

/**
 * Appends one `AccessRecorded` to the workspace's audit stream of the day. Awaited before the data leave the service:
 * what could not be written into the audit trail is not read. A request that reads several things names them all: the
 * first event bears the request's id, the others have ids of their own. Rejects with `unavailable`.
 */
export async function recordAccess(
  eventLog: EventLog,
  caller: Caller,
  access: AccessRecorded,
  ...others: AccessRecorded[]
): Promise<void> {
  const stream = auditStream(caller.workspace, new Date().toISOString().slice(0, 10));
  const events = [
    newEvent(caller, 'AccessRecorded', { ...access }),
    ...others.map((other) => newActorEvent(caller, caller.workspace, 'AccessRecorded', { ...other })),
  ];
  await Promise.all(events.map((event) => eventLog.append(stream, event, 'any')));
}

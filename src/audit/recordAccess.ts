import type { ErrorCode } from '../errors.ts';
import type { DisclosureTerms } from '../events/disclosureTerms.ts';
import type { JsonObject, Position } from '../events/event.ts';
import { type Caller, newActorEvent, newEvent } from '../events/newEvent.ts';
import type { RefusedLines } from '../events/refusedLines.ts';
import type { Shown } from '../events/shown.ts';
import { auditStream } from '../events/streamNames.ts';
import type { EventLog } from '../ports/eventLog.ts';

/** Everything that is recorded beside changes: reads of protected data, refused requests, sign-ins. */
export const accessActions = [
  'record.read',
  'record.list',
  'record.search',
  'record.history',
  'record.proof',
  'record.readiness',
  'readiness.export',
  'readiness.simulation',
  'readiness.scorecard',
  'message.list',
  'message.read',
  'record.disclosures',
  'record.unchanged',
  'record.dry_run',
  'record.batch',
  'document.list',
  'document.download',
  'document.history',
  'document.proof',
  'events.read',
  'events.subscribe',
  'events.sent',
  'webhook.sent',
  'webhook.attempts',
  'export',
  'verify',
  'hold.list',
  'retention.list',
  'retention.apply',
  'workspace.reset',
  'audit.read',
  'audit.export',
  'request.refused',
  'key.unknown',
  'sign_in',
  'sign_in.refused',
  'sign_out',
] as const;
export type AccessAction = (typeof accessActions)[number];

/** Why a sign-in was refused. */
export type SignInRefusal =
  | 'wrong_password'
  | 'wrong_code'
  | 'unknown_user'
  | 'user_disabled'
  | 'no_role'
  | 'rate_limited';

/** What a request was about. */
export interface AccessSubject {
  /** Of a record, or `document`. */
  kind?: string;
  /** The caller's id of the record; of a document, that of its encounter. */
  record_id?: string;
  document_id?: string;
  webhook_id?: string;
}

/** Data of `AccessRecorded`. */
export interface AccessRecorded extends AccessSubject {
  action: AccessAction;
  /** What was asked for beyond the subject, such as `version`, `as_of` or `limit`, as asked. */
  query?: Record<string, unknown>;
  /** What was shown or sent, where it was more than the subject. */
  shown?: Shown;
  /** To whom it went and why, as it was said when it went; left out where nobody had said. */
  disclosed_to?: DisclosureTerms;
  /** How many of these there were, where one entry stands for several. */
  count?: number;
  outcome?: 'refused';
  /** Why it was refused: there whenever it was. */
  code?: ErrorCode | SignInRefusal;
  /** Of a batch of which lines were refused. */
  lines?: RefusedLines;
  /** Of a refused request, or batch of which lines were; the route is its template. */
  method?: string;
  route?: string;
  /** The HTTP status that belongs to the code. */
  status?: number;
  /**
   * Of a refused request: names of the fields at fault, dotted, at most 20, as the interface knows them; `unknown_field` stands
   * for any other. Never what was sent in them.
   */
  fields?: string[];
}

/**
 * Appends one `AccessRecorded` to the workspace's audit stream of the day. Awaited before the data leave the service:
 * what could not be written into the audit trail is not read. A request that reads several things names them all: the
 * first event bears the request's id, the others have ids of their own. Gives the position of the first one. Rejects
 * with `unavailable`.
 */
export async function recordAccess(
  eventLog: EventLog,
  caller: Caller,
  access: AccessRecorded,
  ...others: AccessRecorded[]
): Promise<Position> {
  const first = eventLog.append(
    auditStreamOf(caller),
    newEvent(caller, 'AccessRecorded', toData(caller, access)),
    'any',
  );
  await Promise.all([first, ...others.map((other) => recordFurtherAccess(eventLog, caller, other))]);
  return (await first).position;
}

/** Appends one `AccessRecorded` as `recordAccess` does, beside others of the same request: with an id of its own. */
export async function recordFurtherAccess(
  eventLog: EventLog,
  caller: Caller,
  access: AccessRecorded,
): Promise<void> {
  const event = newActorEvent(caller, caller.workspace, 'AccessRecorded', toData(caller, access));
  await eventLog.append(auditStreamOf(caller), event, 'any');
}

/** Where a request was refused nothing went to anybody. */
function toData({ disclosedTo }: Caller, access: AccessRecorded): JsonObject {
  const isDisclosed = disclosedTo !== undefined && access.outcome !== 'refused';
  return { ...access, ...(isDisclosed && { disclosed_to: disclosedTo }) };
}

function auditStreamOf({ workspace }: Caller): string {
  return auditStream(workspace, new Date().toISOString().slice(0, 10));
}

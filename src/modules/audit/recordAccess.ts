import type { AuditEntry } from '../../../projections/auditAggregation.ts';
import {
  eventIdTime,
  type JsonObject,
  type Position,
  type RecordedEvent,
} from '../../domain/events/event.ts';
import { type Caller, eventIdOf, newActorEvent, newEvent } from '../../domain/events/newEvent.ts';
import type { DisclosedRange, DisclosureTerms, RefusedLines } from '../../domain/events/payloads.ts';
import { auditStream } from '../../domain/events/streams.ts';
import type { FieldFault } from '../../domain/records/schema/faults.ts';
import { type ErrorCode, ServiceError } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { findPreviousAppend } from '../idempotency/keys.ts';

/** Whether a user looked at something on the dashboard: not a change, an export or download, a sign-in, or anything refused. */
export function isPageView({ action = '', principal, code }: AuditEntry): boolean {
  if (principal.type !== 'user' || code !== undefined) return false;
  return /\.(?:read|list|history|readiness|attempts|search)$/.test(action);
}

/** Everything that is recorded besides changes: reads of protected data, refused requests, sign-ins. */
export const accessActions = [
  'record.read',
  'record.list',
  'record.search',
  'record.reconcile',
  'record.history',
  'record.proof',
  'record.copy',
  'record.break_glass',
  'record.readiness',
  'readiness.export',
  'readiness.simulation',
  'readiness.scorecard',
  'message.list',
  'message.read',
  'message.put_aside',
  'record.disclosures',
  'record.unchanged',
  'record.dry_run',
  'record.changes',
  'record.diff',
  'record.undo',
  'record.batch',
  'file.imported',
  'file.signed',
  'document.list',
  'document.download',
  'document.history',
  'document.proof',
  'events.read',
  'events.subscribe',
  'events.sent',
  'webhook.sent',
  'webhook.attempts',
  'consumer.removed',
  'export',
  'verify',
  'hold.list',
  'retention.list',
  'retention.apply',
  'workspace.reset',
  'audit.read',
  'audit.export',
  'audit.report',
  'request.refused',
  'key.unknown',
  'token.issued',
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
  /** The kind of a record, or `document`. */
  kind?: string;
  /** The caller's id of the record; for a document, that of its encounter. */
  record_id?: string;
  document_id?: string;
  webhook_id?: string;
}

/** Data of `AccessRecorded`. */
export interface AccessRecorded extends AccessSubject {
  action: AccessAction;
  /**
   * What was requested besides the subject, such as `version`, `as_of` or `limit`, as sent; for a reconciliation, how many records had
   * each outcome.
   */
  query?: Record<string, unknown>;
  /** What was shown or sent, if more than the subject. */
  shown?: DisclosedRange;
  /** Recipient and purpose as stated at the time of disclosure; absent if not stated. */
  disclosed_to?: DisclosureTerms;
  /** How many there were, if one entry stands for several. */
  count?: number;
  outcome?: 'refused';
  /** Why it was refused: present whenever it was. */
  code?: ErrorCode | SignInRefusal;
  /** For a batch with refused lines. */
  lines?: RefusedLines;
  /** For a refused request, or a batch with refused lines; the route is its template. */
  method?: string;
  route?: string;
  /** The HTTP status of the code. */
  status?: number;
  /**
   * For a refused request: dotted names of the fields at fault, at most 20, as known to the API; `unknown_field` stands for any
   * other. Never the values sent in them.
   */
  fields?: string[];
  /** What is wrong with each of these. */
  faults?: FieldFault[];
}

/**
 * Resolves with what an earlier try of the caller's request recorded as its access; undefined if there was no such try, or it recorded
 * nothing. Rejects with `unavailable` and `unreadable`.
 */
export function findPreviousAccess(eventLog: EventLog, caller: Caller): Promise<RecordedEvent | undefined> {
  return findPreviousAppend(eventLog, accessStreamOf(caller), caller);
}

/**
 * Appends one `AccessRecorded` to the workspace's audit stream of the day on which the request began. Awaited before the data leave
 * the service: nothing is read that could not be recorded in the audit trail. A request that reads several things names them all: the
 * first event has the request's id, the others their own. Returns the position of the first one. Rejects with `unavailable`, and with
 * `reason_required` where the workspace requires a statement of the purpose and there is none.
 */
export async function recordAccess(
  eventLog: EventLog,
  caller: Caller,
  access: AccessRecorded,
  ...others: AccessRecorded[]
): Promise<Position> {
  const append = () =>
    eventLog.append(
      accessStreamOf(caller),
      newEvent(caller, 'AccessRecorded', toData(caller, access)),
      'any',
    );
  const first = (caller.earlier && (await findPreviousAccess(eventLog, caller))) ?? append();
  await Promise.all([first, ...others.map((other) => recordFurtherAccess(eventLog, caller, other))]);
  return (await first).position;
}

/** Appends one `AccessRecorded` as `recordAccess` does, besides others of the same request: with its own id. */
export async function recordFurtherAccess(
  eventLog: EventLog,
  caller: Caller,
  access: AccessRecorded,
): Promise<void> {
  const event = newActorEvent(caller, caller.workspace, 'AccessRecorded', toData(caller, access));
  await eventLog.append(auditStreamOn(caller, Date.now()), event, 'any');
}

/** Accesses that show nothing. */
const showsNothing: ReadonlySet<AccessAction> = new Set([
  'record.unchanged',
  'record.dry_run',
  'record.batch',
  'file.imported',
  'token.issued',
] as const);

/** The refusal to show anything without a statement of its purpose. */
export function reasonRequired(): ServiceError {
  return new ServiceError(
    'reason_required',
    'The workspace requires a reason for each read: send it as Purpose-Statement, or state the purpose of the key.',
  );
}

/** When a request was refused, nothing was disclosed to anyone. Throws `reason_required`. */
function toData({ disclosedTo, isReasonRequired }: Caller, access: AccessRecorded): JsonObject {
  const isRefused = access.outcome === 'refused';
  const isStated = disclosedTo?.purpose_statement !== undefined;
  if (isReasonRequired && !isStated && !isRefused && !showsNothing.has(access.action)) throw reasonRequired();
  const isDisclosed = disclosedTo !== undefined && !isRefused;
  return { ...access, ...(isDisclosed && { disclosed_to: disclosedTo }) };
}

/** The same in each try of a request, also after midnight. */
function accessStreamOf(caller: Caller): string {
  return auditStreamOn(caller, eventIdTime(eventIdOf(caller)));
}

/** The stream of the day of a time, in milliseconds since 1970. */
function auditStreamOn({ workspace }: Caller, time: number): string {
  return auditStream(workspace, new Date(time).toISOString().slice(0, 10));
}

import { dataAs, type JsonObject, type Principal, type RecordedEvent } from '../../domain/events/event.ts';
import { type Caller, newEvent } from '../../domain/events/newEvent.ts';
import { accessReviewStream } from '../../domain/events/streams.ts';
import { upcast } from '../../domain/events/upcasting.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import { validationError } from '../../domain/records/schema/validation.ts';
import { appendDecided, type EventLog } from '../../storage/eventLog.ts';
import { findPreviousAppend } from '../idempotency/keys.ts';
import { foldStream, type QueryPorts, readRecord } from '../records/queries/records.ts';

/** Days of the week, Sunday first, as `Date` counts them. */
export const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;

/** When people work in a workspace, in its time zone. */
export interface OfficeHours {
  /** `07:00`. */
  from: string;
  /** The first minute after; `24:00` for the end of the day. */
  to: string;
  days: readonly (typeof weekdays)[number][];
}

const CLOCK = /^(?:[01]\d|2[0-3]):[0-5]\d$/;

/** Throws `validation_failed` for hours that are none. */
export function requireOfficeHours({ from, to, days }: OfficeHours): void {
  const problems = [
    ...(CLOCK.test(from) ? [] : [{ field: 'from', message: 'must be a time such as 07:00' }]),
    ...(CLOCK.test(to) || to === '24:00' ? [] : [{ field: 'to', message: 'must be a time such as 19:00' }]),
    ...(days.length > 0 ? [] : [{ field: 'days', message: 'must have at least one day' }]),
  ];
  if (problems.length === 0 && from >= to) problems.push({ field: 'to', message: 'must be after the begin' });
  if (problems.length > 0) throw validationError(problems);
}

/** What was noted about access to the records of a workspace. */
export interface AccessReview {
  /** How many events were folded. */
  version: number;
  /** The patients marked as VIP, by id, with who marked them, and when (ISO 8601, UTC). */
  vips: ReadonlyMap<string, { at: string; by: Principal }>;
  /** The last judgment of each row of a report, by the row's id. */
  judgments: ReadonlyMap<string, Judgment>;
}

/** What somebody concluded about a row of a report. */
export interface Judgment {
  at: string;
  by: Principal;
  note: string;
}

const nothing: AccessReview = { version: 0, vips: new Map(), judgments: new Map() };

/** Data of `VipMarked` and `VipUnmarked`. */
interface VipChange {
  kind: 'patient';
  record_id: string;
}

/** Data of `AccessJudged`: a row of the report of a month (`2026-03`). */
interface AccessJudged {
  month: string;
  row_id: string;
  note: string;
}

/** Folds the next event of the stream. Throws an `UnreadableError` for an unknown event. */
export function evolveAccessReview(before: AccessReview | undefined, event: RecordedEvent): AccessReview {
  const { type, data, recordedAt: at, metadata, revision } = upcast(event);
  const { principal: by } = metadata;
  const state = { ...(before ?? nothing), version: revision + 1 };
  if (type === 'AccessJudged') {
    const { row_id: id, note } = dataAs<AccessJudged>(data);
    return { ...state, judgments: new Map([...state.judgments, [id, { at, by, note }]]) };
  }
  const vips = new Map(state.vips);
  const { record_id: id } = dataAs<VipChange>(data);
  if (type === 'VipMarked') vips.set(id, { at, by });
  else vips.delete(id);
  return { ...state, vips };
}

/** Resolves with what was noted, as of every event acknowledged before the call. Rejects with `unreadable` and `unavailable`. */
export async function readAccessReview(eventLog: EventLog, workspace: string): Promise<AccessReview> {
  return (await foldStream(eventLog, accessReviewStream(workspace), evolveAccessReview)) ?? nothing;
}

/**
 * Appends an event to the stream unless `decide` returns none, or an earlier try of the request appended it. `requireSubject` rejects
 * where what it is about does not exist.
 */
async function change(
  eventLog: EventLog,
  caller: Caller,
  requireSubject: () => Promise<unknown>,
  decide: (review: AccessReview) => { type: string; data: object } | undefined,
): Promise<void> {
  const { workspace } = caller;
  const stream = accessReviewStream(workspace);
  if (await findPreviousAppend(eventLog, stream, caller)) return;
  await requireSubject();
  await appendDecided(
    eventLog,
    stream,
    () => readAccessReview(eventLog, workspace),
    (review) => {
      const event = decide(review);
      return event && newEvent(caller, event.type, event.data as JsonObject);
    },
  );
}

/**
 * Marks a patient of the caller's workspace as VIP, or takes the mark away; appends nothing when it is so already. Rejects with
 * `not_found` and `gone` when there is no such patient to mark, with `unreadable` and `unavailable`.
 */
export async function setVip(
  ports: QueryPorts,
  caller: Caller,
  patientId: string,
  isVip: boolean,
): Promise<void> {
  const data: VipChange = { kind: 'patient', record_id: patientId };
  const requirePatient = async () => isVip && readRecord(ports, caller.workspace, patient, patientId);
  await change(ports.eventLog, caller, requirePatient, ({ vips }) => {
    if (vips.has(patientId) === isVip) return undefined;
    return { type: isVip ? 'VipMarked' : 'VipUnmarked', data };
  });
}

const MAX_NOTE = 1_000;

/**
 * Records what somebody concluded about a row of a report, in the place of an earlier conclusion; `requireRow` rejects where there is
 * no such row. Rejects with `validation_failed` without a note, as `requireRow` does, with `unreadable` and `unavailable`.
 */
export async function judgeAccess(
  eventLog: EventLog,
  caller: Caller,
  row: { id: string; month: string },
  note: string,
  requireRow: () => Promise<unknown>,
): Promise<void> {
  const said = note.trim();
  if (said === '' || said.length > MAX_NOTE)
    throw validationError([{ field: 'note', message: `must have 1 to ${MAX_NOTE} characters` }]);
  const data: AccessJudged = { month: row.month, row_id: row.id, note: said };
  await change(eventLog, caller, requireRow, ({ judgments }) =>
    judgments.get(row.id)?.note === said ? undefined : { type: 'AccessJudged', data },
  );
}

import { v5 as uuidv5 } from 'uuid';
import type { AuditEntry } from '../../../projections/auditAggregation.ts';
import { bodyOf } from '../../../projections/projection.ts';
import { recordsModel } from '../../../projections/records.ts';
import type { Principal } from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { recordStream } from '../../domain/events/streams.ts';
import { subjectKinds } from '../../domain/records/catalog.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import type { RecordFields } from '../../domain/records/schema/kind.ts';
import { clockAt, dayAt, startOfDayIn } from '../../domain/records/schema/timeZones.ts';
import { validationError } from '../../domain/records/schema/validation.ts';
import { csvLine } from '../../platform/csv.ts';
import { notFound } from '../../platform/errors.ts';
import { readRuleSettings } from '../readiness/rules/rule.ts';
import type { PrincipalNames } from '../records/queries/principalNames.ts';
import type { QueryPorts } from '../records/queries/records.ts';
import {
  type AccessReview,
  judgeAccess,
  type OfficeHours,
  readAccessReview,
  weekdays,
} from './accessReview.ts';
import type { AccessAction } from './recordAccess.ts';
import { wholeAuditTrail } from './trail.ts';

/** Why access is out of the ordinary. */
export const accessReasons = [
  'break_glass',
  'vip',
  'same_family_name',
  'more_than_usual',
  'after_hours',
] as const;
export type AccessReason = (typeof accessReasons)[number];

/** Access of one person on one day, to be judged: for some reasons to one patient. */
export interface ReportRow {
  id: string;
  reason: AccessReason;
  /** In the time zone of the workspace. */
  day: string;
  principal: Principal;
  /** Whose records were seen, or the record that was opened with a reason. */
  kind?: string | undefined;
  record_id?: string | undefined;
  /** The first and the last access, ISO 8601, UTC. */
  from: string;
  to: string;
  /** Number of accesses; for `more_than_usual`, of records shown. */
  count: number;
  /** For `more_than_usual`: the median of the days before. */
  usual?: number;
  /** For `break_glass`: as stated. */
  stated?: string;
}

export interface ReportPorts extends QueryPorts {
  names: PrincipalNames;
  /** Office hours of the workspaces that have set them. */
  directory: { known: { workspaces: ReadonlyMap<string, { officeHours?: OfficeHours | undefined }> } };
}

/** Days before a day whose median is what somebody usually sees: eight weeks. */
const USUAL_DAYS = 56;
/** Above so many times the median is more than usual … */
const TIMES_USUAL = 3;
/** … from so many records on. */
const LEAST_RECORDS = 50;
/** Distinct records of a day that are counted for one person; any further one counts each time. */
const MOST_APART = 10_000;
const DAY_MS = 86_400_000;

const BREAK_GLASS: AccessAction = 'record.break_glass';
const NAMESPACE = '2d0f8c57-8f0b-4c6a-9a4b-5a1d6c1f0e46';

/** Resolves with the rows of a month's report. Rejects with `validation_failed`, `unreadable` and `unavailable`. */
export async function reportOf(
  ports: ReportPorts,
  workspace: string,
  month: string,
): Promise<{ review: AccessReview; timeZone: string; rows: AsyncGenerator<ReportRow[], void> }> {
  const [{ timeZone }, review] = await Promise.all([
    readRuleSettings(ports.eventLog, workspace),
    readAccessReview(ports.eventLog, workspace),
  ]);
  const [begin, end] = boundsOf(month, timeZone);
  const trail = (from: number) =>
    wholeAuditTrail(ports, workspace, {
      ...{ from: new Date(from).toISOString(), to: new Date(end).toISOString() },
      isWanted: isByPerson,
    });
  const counts = await countedDays(await trail(begin - USUAL_DAYS * DAY_MS), timeZone);
  const { officeHours } = ports.directory.known.workspaces.get(workspace) ?? {};
  const days = new ReportedDays({ ports, workspace, timeZone, officeHours, review, counts });
  return { review, timeZone, rows: rowsOf(days, await trail(begin)) };
}

/**
 * Records what somebody concluded about a row of a month's report, in the place of an earlier conclusion. Rejects with `not_found` when
 * there is no such row, with `validation_failed` without a note, and as `reportOf` does.
 */
export async function judgeRow(
  ports: ReportPorts,
  caller: Caller,
  row: { month: string; id: string },
  note: string,
): Promise<void> {
  await judgeAccess(ports.eventLog, caller, row, note, async () => {
    const { rows } = await reportOf(ports, caller.workspace, row.month);
    for await (const some of rows) if (some.some(({ id }) => id === row.id)) return;
    throw notFound('Row of the report');
  });
}

/** Returns the month (`2026-03`) before the one of a moment, in milliseconds since 1970, in a time zone. */
export function monthBefore(moment: number, timeZone: string): string {
  const date = new Date(clockAt(moment, timeZone));
  return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - 1, 1)).toISOString().slice(0, 7);
}

function boundsOf(month: string, timeZone: string): [begin: number, end: number] {
  if (!/^20\d\d-(?:0[1-9]|1[0-2])$/.test(month))
    throw validationError([{ field: 'month', message: 'must be a month such as 2026-03' }]);
  const [year = 0, number = 0] = month.split('-').map(Number);
  const next = new Date(Date.UTC(year, number, 1)).toISOString().slice(0, 10);
  return [startOfDayIn(`${month}-01`, timeZone), startOfDayIn(next, timeZone)];
}

/** Whether a person saw records: programs see many, at any hour. */
function isByPerson({ type, action = '', code, principal, kind, shown }: AuditEntry): boolean {
  if (type !== 'AccessRecorded' || code !== undefined || action.startsWith('audit.')) return false;
  if (principal.type !== 'user' && principal.type !== 'operator') return false;
  return shown !== undefined || (kind !== undefined && subjectKinds.includes(kind));
}

const keyOf = ({ type, id }: Principal) => `${type} ${id}`;

/** The number of records shown to each person on each day. */
type Counts = ReadonlyMap<string, ReadonlyMap<string, number>>;

async function countedDays(trail: AsyncIterable<readonly AuditEntry[]>, timeZone: string): Promise<Counts> {
  const counts = new Map<string, Map<string, number>>();
  const seen = new Map<string, Set<string>>();
  let current: string | undefined;
  for await (const entries of trail) {
    for (const { recordedAt, principal, kind, id, shown } of entries) {
      const day = dayAt(Date.parse(recordedAt), timeZone);
      if (current === undefined || day < current) {
        seen.clear();
        current = day;
      }
      const key = keyOf(principal);
      const ids = seen.get(key) ?? new Set();
      seen.set(key, ids);
      const ofPerson = counts.get(key) ?? new Map<string, number>();
      counts.set(key, ofPerson);
      const record = JSON.stringify([kind, id]);
      const isNew = !ids.has(record);
      if (ids.size < MOST_APART) ids.add(record);
      const shownNow = shown ? (shown.count ?? shown.things?.length ?? 0) : Number(isNew);
      ofPerson.set(day, (ofPerson.get(day) ?? 0) + shownNow);
    }
  }
  return counts;
}

/** Returns the median of the days before a day on which somebody saw records; 0 where there were none. */
function usualBefore(day: string, counts: ReadonlyMap<string, number> | undefined): number {
  const since = new Date(Date.parse(day) - USUAL_DAYS * DAY_MS).toISOString().slice(0, 10);
  const before = [...(counts ?? [])].filter(([one, count]) => one >= since && one < day && count > 0);
  const sorted = before.map(([, count]) => count).sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  if (sorted.length === 0) return 0;
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

async function* rowsOf(
  days: ReportedDays,
  trail: AsyncIterable<readonly AuditEntry[]>,
): AsyncGenerator<ReportRow[], void> {
  for await (const entries of trail) {
    for (const [day, ofDay] of Map.groupBy(entries, (entry) => days.dayOf(entry))) {
      const ended = days.begin(day);
      if (ended.length > 0) yield ended;
      await days.add(ofDay);
    }
  }
  yield days.end();
}

interface Reported {
  ports: ReportPorts;
  workspace: string;
  timeZone: string;
  officeHours: OfficeHours | undefined;
  review: AccessReview;
  counts: Counts;
}

type Found = Pick<ReportRow, 'reason' | 'principal' | 'kind' | 'record_id' | 'usual' | 'stated'>;

/** Collects the rows of one day after the other, newest first: no more than those of a day are held. */
class ReportedDays {
  readonly #of: Reported;
  #day = '';
  /** By what their ids are made from. */
  #rows = new Map<string, ReportRow>();
  /** What is usual for each person, as of the day. */
  #usual = new Map<string, number>();

  constructor(reported: Reported) {
    this.#of = reported;
  }

  dayOf({ recordedAt }: AuditEntry): string {
    return dayAt(Date.parse(recordedAt), this.#of.timeZone);
  }

  /**
   * Begins a day, unless it is the present one; returns the rows of the one that ended. What a clock that is ahead put on a later day
   * belongs to the present one.
   */
  begin(day: string): ReportRow[] {
    if (this.#day !== '' && day >= this.#day) return [];
    const ended = this.end();
    this.#day = day;
    return ended;
  }

  end(): ReportRow[] {
    const rows = [...this.#rows.values()];
    this.#rows = new Map();
    this.#usual = new Map();
    return rows.sort(
      (a, b) => accessReasons.indexOf(a.reason) - accessReasons.indexOf(b.reason) || (a.to < b.to ? 1 : -1),
    );
  }

  /** Adds entries of the day, newest first. */
  async add(entries: readonly AuditEntry[]): Promise<void> {
    const { names } = this.#of.ports;
    await names.learn(entries.map(({ principal }) => principal));
    const patientsOf = await this.#patients(entries);
    for (const entry of entries) {
      const { principal, action, kind, id, query } = entry;
      const found: Found[] = [];
      if (action === BREAK_GLASS)
        found.push({ reason: 'break_glass', principal, kind, record_id: id, stated: String(query?.reason) });
      const seen = patientsOf(entry);
      if (seen) {
        const person = { principal, kind: patient.kind, record_id: seen.id };
        if (this.#of.review.vips.has(seen.id)) found.push({ reason: 'vip', ...person });
        if (sharesName(names.nameOf(principal), seen.fields))
          found.push({ reason: 'same_family_name', ...person });
      }
      if (!this.#isInOfficeHours(entry)) found.push({ reason: 'after_hours', principal });
      for (const one of found) this.#note(one, entry, 1);
      this.#noteCount(entry);
    }
  }

  #noteCount(entry: AuditEntry): void {
    const { principal } = entry;
    const key = keyOf(principal);
    const counts = this.#of.counts.get(key);
    const count = counts?.get(this.#day) ?? 0;
    if (count < LEAST_RECORDS) return;
    const usual = this.#usual.get(key) ?? usualBefore(this.#day, counts);
    this.#usual.set(key, usual);
    if (count <= TIMES_USUAL * usual) return;
    const row = this.#note({ reason: 'more_than_usual', principal, usual }, entry, 0);
    row.count = count;
  }

  /** Adds an access to the row of its reason, person and patient. */
  #note(found: Found, { recordedAt }: AuditEntry, count: number): ReportRow {
    const { reason, principal, kind, record_id, stated } = found;
    const parts = [this.#of.workspace, this.#day, reason, keyOf(principal), kind, record_id, stated];
    const key = JSON.stringify(parts);
    // The id takes longer than all else.
    const row = this.#rows.get(key) ?? {
      ...{ id: uuidv5(key, NAMESPACE), day: this.#day, ...found },
      ...{ from: recordedAt, to: recordedAt, count: 0 },
    };
    row.from = recordedAt;
    row.count += count;
    this.#rows.set(key, row);
    return row;
  }

  #isInOfficeHours({ recordedAt }: AuditEntry): boolean {
    const { officeHours, timeZone } = this.#of;
    if (officeHours === undefined) return true;
    const shown = new Date(clockAt(Date.parse(recordedAt), timeZone));
    const clock = shown.toISOString().slice(11, 16);
    const { from, to, days } = officeHours;
    return (
      days.includes(weekdays[shown.getUTCDay()] as (typeof weekdays)[number]) && clock >= from && clock < to
    );
  }

  /** Resolves with what returns the patient whose records an entry names, as of now; undefined for none, or an erased one. */
  async #patients(entries: readonly AuditEntry[]) {
    const { workspace, ports } = this.#of;
    const load = async (kind: string, ids: Iterable<string>) => {
      const streams = [...new Set(ids)].map((id) => recordStream(workspace, kind, id));
      const rows = streams.length > 0 ? await ports.readModels.load(recordsModel, streams) : [];
      const fields = rows.map((row) => {
        const state = bodyOf(row);
        return [row.id, state === undefined || state.erased ? undefined : state.fields] as const;
      });
      const byStream = new Map<string, RecordFields | undefined>(fields);
      return (id: string) => byStream.get(recordStream(workspace, kind, id));
    };
    const idsOf = (...kinds: string[]) =>
      entries.flatMap(({ kind = '', id }) => (kinds.includes(kind) && id !== undefined ? [id] : []));
    const encounterOf = await load(encounter.kind, idsOf(encounter.kind, 'document'));
    const patientIdOf = ({ kind = '', id = '' }: AuditEntry) => {
      if (kind === patient.kind) return id;
      const of = [encounter.kind, 'document'].includes(kind) ? encounterOf(id)?.patient_id : undefined;
      return typeof of === 'string' ? of : undefined;
    };
    const patientOf = await load(
      patient.kind,
      entries.flatMap((entry) => patientIdOf(entry) ?? []),
    );
    return (entry: AuditEntry) => {
      const id = patientIdOf(entry);
      return id === undefined || id === '' ? undefined : { id, fields: patientOf(id) ?? {} };
    };
  }
}

const MARKS = /\p{M}/gu;

/** Returns the words of a name, without case and accents. */
function wordsOf(name: unknown): string[] {
  if (typeof name !== 'string') return [];
  return name
    .normalize('NFKD')
    .replace(MARKS, '')
    .toLowerCase()
    .split(/[^\p{L}]+/u)
    .filter(Boolean);
}

/** Whether the last word of a user's name, of an address before the `@`, is in the family name of a patient or a subscriber. */
function sharesName(name: string | undefined, fields: Partial<RecordFields>): boolean {
  const own = wordsOf(name?.split('@')[0]).at(-1);
  if (own === undefined) return false;
  const subscribers = patient.nested.map(
    ({ field }) =>
      (fields[field] as { subscriber_last_name?: unknown } | null | undefined)?.subscriber_last_name,
  );
  return [fields.last_name, ...subscribers].some((one) => wordsOf(one).includes(own));
}

const columns = [
  ...['id', 'reason', 'day', 'principal_type', 'principal_id', 'principal_name', 'kind', 'record_id'],
  ...['from', 'to', 'count', 'usual', 'stated', 'judged_at', 'judged_by', 'note'],
] as const;

export type ReportFormat = 'csv' | 'ndjson';

/** Returns the rows as a file in a format, several lines at a time. */
export async function* reportLines(
  { review, rows }: Awaited<ReturnType<typeof reportOf>>,
  names: PrincipalNames,
  format: ReportFormat,
): AsyncGenerator<string> {
  if (format === 'csv') yield csvLine(columns);
  for await (const some of rows) yield some.map((row) => reportLine(row, review, names, format)).join('');
}

function reportLine(
  row: ReportRow,
  { judgments }: AccessReview,
  names: PrincipalNames,
  format: ReportFormat,
): string {
  const { principal, ...others } = row;
  const judged = judgments.get(row.id);
  const line: Record<string, string | number | undefined> = {
    ...others,
    ...{
      principal_type: principal.type,
      principal_id: principal.id,
      principal_name: names.nameOf(principal),
    },
    ...(judged && {
      judged_at: judged.at,
      judged_by: names.nameOf(judged.by) ?? judged.by.id,
      note: judged.note,
    }),
  };
  if (format === 'csv') return csvLine(columns.map((column) => line[column]));
  return `${JSON.stringify(line)}\n`;
}

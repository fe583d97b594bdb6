import type { RecordFields } from '../../../domain/records/schema/kind.ts';
import { offsetOf } from '../../../domain/records/schema/timeZones.ts';
import { shownOffset } from '../fields.ts';
import type { Operation, Origin, Origins, RecordOperation } from '../operations.ts';
import type { Source } from '../sources.ts';
import type { ConditionCode, Hl7Issue, Hl7Message, Segment, Value } from './parser.ts';

/** What a message says about a field, and where. */
export class Sourced<Of = Exclude<Value, undefined>> {
  readonly value: Of;
  readonly origin: Origin;

  constructor(value: Of, origin: Origin) {
    this.value = value;
    this.origin = origin;
  }
}

/**
 * Returns what is said at a place (in the form of `Segment.at`); undefined for nothing. `setting`: the source's
 * setting that determined it.
 */
export function sourced<Of>(
  value: Of | undefined,
  at: string | undefined,
  setting?: string,
): Sourced<Of> | undefined {
  if (value === undefined) return undefined;
  return new Sourced(value, { ...(at !== undefined && { at }), ...(setting !== undefined && { setting }) });
}

/** Returns what is said, unless it clears. */
export function unlessCleared<Of>(one: Sourced<Of> | undefined): Sourced<NonNullable<Of>> | undefined {
  return one?.value == null ? undefined : (one as Sourced<NonNullable<Of>>);
}

/** HL7 v2.5.1, 2.A.77: YYYY[MM[DD[HH[MM[SS[.S[S[S[S]]]]]]]]][+/-ZZZZ]. */
const TIMESTAMP =
  /^([12]\d{3})(?:(\d\d)(?:(\d\d)(?:(\d\d)(?:(\d\d)(?:(\d\d)(?:\.(\d{1,4}))?)?)?)?)?)?([+-]\d{4})?$/;

/** The largest offset in use, in minutes. */
const MOST_OFFSET = 14 * 60;

/**
 * Returns a time in ISO 8601, with its offset, or that of the time zone where it has none; a plain date, where no
 * more is given. Undefined for an invalid time, or one less precise than a day.
 */
export function momentOf(text: string, timeZone: string): string | undefined {
  const [, year, month, day, hour, minute = '00', second = '00', fraction, offset] =
    TIMESTAMP.exec(text.trim()) ?? [];
  const date = dateOf(year, month, day);
  if (date === undefined || hour === undefined) return date;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  const clock = `${date}T${hour}:${minute}:${second}`;
  const zone = offset ? sentOffset(offset) : offsetOf(Date.parse(`${clock}Z`), timeZone);
  if (zone === undefined) return undefined;
  return `${clock}${fraction === undefined ? '' : `.${fraction}`}${shownOffset(zone)}`;
}

/**
 * Returns the day of a time as a plain date, wherever that is. Undefined for an invalid time, or one less precise
 * than a day.
 */
export function dayOf(text: string): string | undefined {
  const [, year, month, day] = TIMESTAMP.exec(text.trim()) ?? [];
  return dateOf(year, month, day);
}

function dateOf(year?: string, month?: string, day?: string): string | undefined {
  const date = `${year}-${month}-${day}`;
  const time = Date.parse(`${date}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(date) ? date : undefined;
}

/**
 * Returns why a text is not a time with at least a day, as a sentence without the text itself; undefined where it is one.
 * `isDay`: what follows the day does not matter.
 */
export function timeProblem(text: string, isDay = false): string | undefined {
  const [, year, month, day, hour = '00', minute = '00', second = '00', , offset] =
    TIMESTAMP.exec(text.trim()) ?? [];
  if (year === undefined) return 'This is not written as YYYYMMDD or YYYYMMDDHHMM, without separators.';
  if (month === undefined) return 'The month and the day are missing.';
  if (Number(month) < 1 || Number(month) > 12) return 'The month is not one of 01 to 12.';
  if (day === undefined) return 'The day is missing.';
  if (dateOf(year, month, day) === undefined) return 'The month does not have this day.';
  if (isDay) return undefined;
  if (Number(hour) > 23) return 'The hour is not one of 00 to 23.';
  if (Number(minute) > 59) return 'The minute is not one of 00 to 59.';
  if (Number(second) > 59) return 'The second is not one of 00 to 59.';
  return offset !== undefined && sentOffset(offset) === undefined
    ? 'The offset from UTC is not one of -1400 to +1400.'
    : undefined;
}

/** In minutes. */
function sentOffset(text: string): number | undefined {
  const [hours, minutes] = [Number(text.slice(1, 3)), Number(text.slice(3))];
  const offset = hours * 60 + minutes;
  if (minutes > 59 || offset > MOST_OFFSET) return undefined;
  return text.startsWith('-') ? -offset : offset;
}

/** A message while it is mapped, with what is found to be wrong with it. */
export class MappingContext {
  readonly message: Hl7Message;
  readonly source: Hl7Source;
  /** Each once, by what it says. */
  readonly #issues: Map<string, Hl7Issue>;

  constructor(message: Hl7Message, source: Hl7Source, issues = new Map<string, Hl7Issue>()) {
    this.message = message;
    this.source = source;
    this.#issues = issues;
  }

  /** What was noted so far. */
  get issues(): Hl7Issue[] {
    return [...this.#issues.values()];
  }

  /** Returns a context for each group of the message that begins with such a segment; they share the issues. */
  groups(name: string): MappingContext[] {
    return this.message.groups(name).map((one) => new MappingContext(one, this.source, this.#issues));
  }

  /** Notes that nothing of the message is accepted. */
  refuse(code: ConditionCode, location: string, text: string): void {
    this.#note({ severity: 'error', code, location, text });
  }

  /** Notes that something of the message is not used. */
  warn(code: ConditionCode, location: string, text: string): void {
    this.#note({ severity: 'warning', code, location, text });
  }

  #note(issue: Hl7Issue): void {
    this.#issues.set(JSON.stringify(issue), issue);
  }

  /** Returns a time (TS) in ISO 8601; an invalid one is left out, with a remark. */
  moment(segment: Segment | undefined, field: number, component = 1): Sourced | undefined {
    return this.#time(
      segment,
      field,
      component,
      (text) => momentOf(text, this.source.time_zone),
      timeProblem,
    );
  }

  /** Returns the plain date of a time (DT, TS), in the same way. */
  day(segment: Segment | undefined, field: number): Sourced | undefined {
    return this.#time(segment, field, 1, dayOf, (text) => timeProblem(text, true));
  }

  #time(
    segment: Segment | undefined,
    field: number,
    component: number,
    read: (text: string) => string | undefined,
    problem: (text: string) => string | undefined,
  ): Sourced | undefined {
    const text = segment?.value(field, component);
    if (segment === undefined || text === undefined) return undefined;
    const time = text === null ? null : read(text);
    if (text !== null && time === undefined) {
      this.warn('102', segment.at(field, component), `${problem(text)} The time is ignored.`);
    }
    return sourced(time, segment.at(field, component));
  }
}

/** Returns what an event's message says, starting with what the rest refers to. Problems are noted in the context. */
export type MapEvent = (context: MappingContext) => Operation[];

/** How the messages of a source are read. */
export interface Hl7Source
  extends Pick<
    Source,
    | ('time_zone' | 'patient_authority' | 'visit_authority' | 'visit_from')
    | ('insurance_sets' | 'others' | 'facility' | 'mapping')
  > {
  /** It may send training and debugging messages as well as production ones (MSH-11, HL7 table 0103). */
  maySendTests?: boolean;
}

/**
 * Fields of a record, as far as something is said about them: `null` clears. Those of an insurance are nested, and
 * written as a whole.
 */
export type SourcedFields = Record<string, Sourced<unknown> | undefined | InsuranceFields>;
export type InsuranceFields = { [field: string]: Sourced<unknown> | undefined };

/**
 * Returns what a message says about a record. With `ifAbsent` it is written only where none with its id exists, so
 * that nothing needs to be cleared. `at`: where it is said.
 */
export function recordOperation(
  kind: string,
  at: string,
  fields: SourcedFields & { id: Sourced<string> | undefined },
  ifAbsent = false,
): RecordOperation {
  const origins: Origins = {};
  const values = valuesOf(fields, origins, { isWhole: ifAbsent });
  return {
    ...{ type: 'record', kind, fields: values as RecordFields, at, origins },
    ...(ifAbsent && { ifAbsent }),
  };
}

function valuesOf(
  fields: SourcedFields,
  origins: Origins,
  { isWhole, within = '' }: { isWhole: boolean; within?: string },
): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [name, one] of Object.entries(fields)) {
    const path = `${within}${name}`;
    if (one instanceof Sourced) {
      if (one.value === null && isWhole) continue;
      values[name] = one.value;
      origins[path] = one.origin;
    } else if (one !== undefined)
      values[name] = valuesOf(one, origins, { isWhole: true, within: `${path}.` });
  }
  return values;
}

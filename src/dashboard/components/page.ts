import { AsyncLocalStorage } from 'node:async_hooks';
import type { Readable } from 'node:stream';
import type { Request, Response } from 'express';
import { html as template } from 'hono/html';
import { statusOf } from '../../api/server/answer.ts';
import type { Actor, Caller } from '../../domain/events/newEvent.ts';
import { clockIn } from '../../domain/records/schema/timeZones.ts';
import type { Role, User } from '../../modules/auth/users.ts';
import type { ReportOrigin } from '../../modules/integrity/manifest.ts';
import { type ErrorCode, type FieldMessage, ServiceError } from '../../platform/errors.ts';

/** Markup that may be sent as it is: every value in it was escaped. */
export interface Html {
  readonly isEscaped: true;
  toString(): string;
}

/**
 * What can be inserted in a template; `undefined`, `null` and booleans produce nothing, arrays all of their items.
 */
export type HtmlValue = Html | string | number | boolean | null | undefined | readonly HtmlValue[];

/** Builds markup from a template literal. Values are escaped, both for text and for attributes in double quotes. */
export function html(strings: TemplateStringsArray, ...values: HtmlValue[]): Html {
  return template(strings, ...values) as Html;
}

/** What every moment and every field of a page takes into account, without each page passing it on. */
interface Reader {
  /** IANA; undefined: the reader sees only UTC. */
  timeZone?: string | undefined;
  /** What the reader typed into a form of the page earlier; undefined: nothing. */
  typed?: Visit['form'] | undefined;
  /** What is wrong with what was sent, as the page says it. */
  errors?: PageErrors;
}

/** What a page says is wrong with the form that was sent. */
interface PageErrors {
  /** Why it was not accepted; undefined: only its fields say so. */
  refusal?: Omit<Refusal, 'status'>;
  /** The fields that are marked, in the order of the page. */
  fields: { id: string; label: string; message: string }[];
}

const readers = new AsyncLocalStorage<Reader>();

/** Builds a page for a reader. */
export function forReader<Made>(reader: Reader, make: () => Made): Made {
  return readers.run(reader, make);
}

/** Returns the reader for whom a page is being built. */
export function viewerPreferences(): Reader {
  return readers.getStore() ?? {};
}

/** Who may open a page: users with one of these roles. */
export const everyone: readonly Role[] = [
  'admin',
  'compliance',
  'billing',
  'integrator',
  'auditor',
  'viewer',
];
/** Records, documents, readiness. */
export const recordReaders: readonly Role[] = ['admin', 'compliance', 'billing'];
/** Refused requests, messages without their content, sources. */
export const requestReaders: readonly Role[] = ['admin', 'compliance', 'integrator'];
/** The audit trail and the evidence: ids of records, and none of their values. */
export const trailReaders: readonly Role[] = ['admin', 'compliance', 'auditor'];
/** Everything that is read: also disclosures, changes, and messages as received. */
export const phiReaders: readonly Role[] = ['admin', 'compliance'];
/** Messages that wait: to process them again, or to put them aside. */
export const messageWorkers: readonly Role[] = ['admin', 'integrator'];
/** To correct them, which shows all that they say. */
export const messageEditors: readonly Role[] = ['admin'];
/** Legal holds. */
export const holdKeepers: readonly Role[] = ['admin', 'compliance'];
/** Keys, webhooks, sources. */
export const integrators: readonly Role[] = ['admin', 'integrator'];
export const admins: readonly Role[] = ['admin'];

/** Who changes who gets in, where data go, whether a clinic can send, or what can be erased. */
const changers: readonly (readonly Role[])[] = [holdKeepers, integrators, admins];

/** One page of the dashboard, or one action of a form. */
export interface DashboardRoute {
  method: 'get' | 'post';
  /** Below `/dashboard`; a segment `:workspace` is the id of an existing workspace. */
  path: string;
  /**
   * Who may open it: anybody, every signed-in user, or users who have one of these roles in the workspace of the path;
   * without one, in all workspaces.
   */
  roles: 'public' | 'signed-in' | readonly Role[];
  /** The path names a workspace, but the role counts that the user has in all workspaces. */
  isInstallationWide?: boolean | undefined;
  /** What its download is, where that can be had with a signed manifest (`signed=yes`). */
  report?: ReportOrigin['report'];
  /** The query parameters that the page accepts; any other is refused. Without them a query is ignored. */
  query?: readonly string[];
  /** Requested by the page, not by the user: it does not prolong the session. */
  isBackground?: boolean;
  /** An action for others than these that requires a fresh proof of the user's identity (`needsProof`). */
  isSensitive?: boolean;
  /** A page of one record: users of other roles may open it with a reason, where the workspace allows that. */
  opensWithReason?: boolean;
  /** The path of the page with its form, where there is no page at its own. */
  page?: string;
  /** Its form is on every page: if sent too late, it is filled in again on the page of its own address. */
  isOnEveryPage?: boolean;
  /** Its form may have a file in it, and be larger than others. */
  isLarge?: boolean;
  /** Open to users who first have to set up an authenticator app. */
  isForSetup?: boolean;
  handle(visit: Visit): Promise<Reply>;
}

/**
 * Whether a route requires a fresh proof of the user's identity: every action that only those may take who change
 * something (`changers`), and those that let out as much.
 */
export function needsProof({ method, roles, isSensitive = false }: DashboardRoute): boolean {
  return isSensitive || (method === 'post' && typeof roles !== 'string' && changers.includes(roles));
}

/**
 * Returns the workspace in which a user needs a role to open a route with these parameters; undefined: in all
 * workspaces.
 */
export function scopeOf({ isInstallationWide }: DashboardRoute, { params }: Request): string | undefined {
  return isInstallationWide ? undefined : (params.workspace as string | undefined);
}

/** One request to the dashboard: who sent it, and about what. */
export interface Visit {
  req: Request;
  res: Response;
  requestId: string;
  clientIp: string;
  /** Throws on a public page. */
  readonly user: User;
  /** The workspace in the path; throws on a page without one. */
  readonly workspace: string;
  /** The user, for operations that change keys, workspaces or users. */
  readonly actor: Actor;
  /** Why the user reads in the workspace of the path, as stated in the session. */
  reason: string | undefined;
  /** The user's role in the workspace of the path; without one, in all workspaces. Undefined: none. */
  readonly role: Role | undefined;
  /** Whether the user has one of these roles in a workspace, by default that of the path; without one, in all workspaces. */
  may(roles: readonly Role[], workspace?: string): boolean;
  /** The user in that workspace. */
  readonly caller: Caller;
  /** The fields of a form that was sent. */
  form: Record<string, string | string[] | undefined>;
  /** A hidden field that every form contains. */
  readonly csrf: Html;
  /** Shown once, on the next page. */
  notice(text: string): void;
}

/** A line about a page, and the document and heading that have more. */
export type Help = readonly [line: string, document: string, heading?: string];

export interface Page {
  title: string;
  /** Default: that of the route (`pageHelp`). */
  help?: Help;
  /** The entry of the menu to which the page belongs, by its name. */
  section?: string;
  body: Html;
  /** Default 200. */
  status?: number;
  /** What the page reports, for the log. */
  error?: ServiceError;
}

/** What a page returns. `redirect` is a path below `/dashboard`, or the address of an identity provider. */
export type Reply =
  | { page: Page }
  | { fragment: Html }
  | { redirect: string }
  /** `isShown`: for a frame in a page of the dashboard, not to be saved. */
  | { download: { type: string; name: string; body: Readable; isShown?: boolean } };

type Form = Visit['form'];

/** Returns the value of a field that was sent, trimmed; empty when there is none. */
export function textOf(form: Form, name: string): string {
  return (valuesOf(form, name)[0] ?? '').trim();
}

/** Returns a password that was sent: exactly as typed. */
export function passwordOf(form: Form, name: string): string {
  return valuesOf(form, name)[0] ?? '';
}

/** Returns all values of a name, as sent by check boxes. */
export function valuesOf(form: Form, name: string): string[] {
  return [form[name] ?? []].flat();
}

/** Why a form was not accepted, to be shown with it. */
export interface Refusal {
  status: number;
  /** About the form as a whole; undefined where `details` say everything. */
  text: string | undefined;
  details: readonly FieldMessage[];
}

/** What a form is shown again for. */
const refusals: readonly ErrorCode[] = ['validation_failed', 'conflict', 'version_conflict'];

/** Returns the refusal of what somebody sent, where it has one of these codes; rethrows any other error. */
export function problemOf(error: unknown, codes = refusals): Refusal {
  if (error instanceof ServiceError && codes.includes(error.code)) {
    // What concerns the whole form is in the text.
    const details = (error.details ?? []).filter(({ field }) => field !== '');
    const isStale = error.code === 'version_conflict';
    const text = isStale
      ? 'This has changed since the page was opened. Review it, and send the form again.'
      : error.message;
    return { status: statusOf[error.code], text: isOf(details, text) ? undefined : text, details };
  }
  throw error;
}

/** Whether a text only repeats what is wrong with fields. */
function isOf(details: readonly FieldMessage[], text: string): boolean {
  const [first] = details;
  return (
    first !== undefined && (text.startsWith(`Validation failed: ${first.field} `) || text === first.message)
  );
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known) return known;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
  formats.set(timeZone, format);
  return format;
}

/** Returns what a clock in a time zone (IANA) shows at a moment, in milliseconds since 1970. */
function clockAt(moment: number, timeZone: string) {
  const parts = formatOf(timeZone).formatToParts(moment);
  const { year, month, day, hour, minute, second } = Object.fromEntries(
    parts.map(({ type, value }) => [type, value]),
  );
  return { date: `${year}-${month}-${day}`, clock: `${hour}:${minute}:${second}` };
}

const shownFormats = new Map<string, Intl.DateTimeFormat>();

/** Returns a moment (ISO 8601, UTC) as people write it in a time zone (IANA): `Mar 14, 2026, 13:20 GMT+1`. */
export function zonedTime(iso: string, timeZone: string): string {
  const format =
    shownFormats.get(timeZone) ??
    new Intl.DateTimeFormat('en-US', {
      ...{ timeZone, timeZoneName: 'short', hourCycle: 'h23' },
      ...{ year: 'numeric', month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' },
    });
  shownFormats.set(timeZone, format);
  return format.format(new Date(iso));
}

/**
 * Returns a moment, in milliseconds since 1970, as a date and time field shows it in a time zone:
 * `2026-11-23T13:20:15`.
 */
export function zonedClock(moment: number, timeZone: string): string {
  const { date, clock } = clockAt(moment, timeZone);
  return `${date}T${clock}`;
}

/** Returns when the day that contains a moment began in a time zone; both in milliseconds since 1970. */
export function startOfDay(moment: number, timeZone: string): number {
  const { date } = clockAt(moment, timeZone);
  return clockIn(Date.parse(`${date}T00:00:00Z`), timeZone);
}

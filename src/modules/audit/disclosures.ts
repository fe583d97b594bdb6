import type { AuditEntry } from '../../../projections/auditAggregation.ts';
import type { Principal } from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { everyTerm } from '../../domain/events/payloads.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import type { Page, PageRequest } from '../records/queries/paging.ts';
import type { PrincipalNames } from '../records/queries/principalNames.ts';
import type { QueryPorts } from '../records/queries/records.ts';
import { AccessIndex, type IndexedAccess, patientThings } from './accessIndex.ts';
import { recordAccess } from './recordAccess.ts';
import { type AuditFilter, readAuditTrail, wholeAuditTrail } from './trail.ts';

/**
 * The status of an access under 45 CFR 164.528:
 * - `accountable`: a disclosure that an accounting includes.
 * - `purpose_not_given`: a disclosure without a stated purpose, so that it is accounted for.
 * - `exempt`: a disclosure for treatment, payment or health care operations, or to the individual.
 * - `internal_use`: by the organization's own workforce, which is a use and not a disclosure (45 CFR 160.103).
 * - `deidentified`: nothing that identified anyone was disclosed (45 CFR 164.502(d), 164.514).
 */
const disclosureStatuses = [
  'accountable',
  'purpose_not_given',
  'exempt',
  'internal_use',
  'deidentified',
] as const;
export type DisclosureStatus = (typeof disclosureStatuses)[number];

/** What exempts disclosures for treatment, payment and health care operations, and those to the individual. */
const EXEMPTION = '45 CFR 164.528(a)(1)(i)';
const EXEMPTION_OF_INDIVIDUALS = '45 CFR 164.528(a)(1)(ii)';

/**
 * Returns the status of an entry's access. Users and operators are the workforce, unless they stated a recipient or purpose.
 * Without a purpose nothing is presumed exempt.
 */
function disclosureStatus({
  action,
  principal,
  disclosedTo,
  shown,
}: Pick<AuditEntry, 'action' | 'principal' | 'disclosedTo' | 'shown'>): DisclosureStatus {
  if (isToIndividual(action)) return 'exempt';
  const isWorkforce = principal.type === 'user' || principal.type === 'operator';
  if (isWorkforce && disclosedTo === undefined) return 'internal_use';
  if (shown?.view === 'deidentified') return 'deidentified';
  const purpose = disclosedTo?.purpose;
  if (purpose === undefined) return 'purpose_not_given';
  return purpose === 'other' ? 'accountable' : 'exempt';
}

/** Whether an action discloses what is held about an individual to that individual. */
function isToIndividual(action: string | undefined): boolean {
  return action === 'record.copy';
}

/** Whether it is a disclosure of protected data: neither a use nor data that identify no one. */
export function isDisclosure(status: DisclosureStatus): boolean {
  return status !== 'internal_use' && status !== 'deidentified';
}

/** Whether an accounting includes what has this status; excludes what is exempt if that is omitted. */
function isAccounted(status: DisclosureStatus, omitExempt = false): boolean {
  return isDisclosure(status) && !(omitExempt && status === 'exempt');
}

/** Maximum number of things named for one entry; the rest are counted. */
const MOST_NAMED = 20;
/** Maximum number of version runs listed. */
const MOST_RUNS = 20;

/** A record or document of which something was disclosed. */
export interface DisclosedThing {
  kind: string;
  /** For a document, the id of its encounter. */
  id: string;
  document_id?: string;
  /** `1-3, 5`; absent if the entry names no versions. */
  versions?: string;
}

/** One access to a patient's data; reports list the newest first. It contains ids and versions, never the value of a field. */
export interface Disclosure {
  /** ISO 8601, UTC. What was sent to streams and webhooks is recorded within a minute. */
  disclosed_at: string;
  /** As in the audit trail: `record.read`, `webhook.sent` … */
  action: string;
  principal: Principal & { name: string | null };
  webhook_id: string | null;
  what: DisclosedThing[];
  /** How many more things there were. */
  what_more: number;
  /** `id`: the entry names it; `range`: it lies where a list, stream, webhook or export was shown events, and may have been left out. */
  found_by: 'id' | 'range';
  /** The view of the events that was disclosed, if not everything. */
  view: 'reference' | 'deidentified' | null;
  /** As stated at the time of disclosure; null if not stated. */
  recipient: string | null;
  recipient_address: string | null;
  purpose: string | null;
  purpose_statement: string | null;
  status: DisclosureStatus;
  /** The provision that exempts it from accountings. */
  exemption: string | null;
  client_ip: string | null;
  request_id: string;
  event_id: string;
  position: number;
}

/** Converts an audit trail entry, which is a sighting. */
function toDisclosure(
  entry: AuditEntry,
  sightings: AccessIndex,
  nameOf: (principal: Principal) => string | undefined,
): Disclosure {
  const { principal, kind, id, shown, disclosedTo = {} } = entry;
  const status = disclosureStatus(entry);
  const things = thingsIn(entry, sightings);
  return {
    disclosed_at: entry.recordedAt,
    action: entry.action ?? entry.type,
    principal: { ...principal, name: nameOf(principal) ?? null },
    webhook_id: kind === 'webhook' ? (id ?? null) : null,
    what: things.slice(0, MOST_NAMED),
    what_more: Math.max(0, things.length - MOST_NAMED),
    found_by: shown === undefined || shown.things ? 'id' : 'range',
    view: shown?.view ?? null,
    ...everyTerm(disclosedTo),
    status,
    exemption: status === 'exempt' ? exemptionOf(entry) : null,
    client_ip: entry.clientIp ?? null,
    request_id: entry.requestId ?? entry.eventId,
    event_id: entry.eventId,
    position: entry.position,
  };
}

function exemptionOf({ action }: AuditEntry): string {
  return isToIndividual(action) ? EXEMPTION_OF_INDIVIDUALS : EXEMPTION;
}

function thingsIn(entry: AuditEntry, sightings: AccessIndex): DisclosedThing[] {
  const { kind, id, documentId, shown } = entry;
  if (shown !== undefined) return sightings.in(entry).map(toThing);
  if (kind === undefined || id === undefined) return [];
  return [{ kind, id, ...(documentId !== undefined && { document_id: documentId }) }];
}

function toThing({ thing, versions }: IndexedAccess): DisclosedThing {
  const { kind, id, documentId } = thing;
  return {
    kind,
    id,
    ...(documentId !== undefined && { document_id: documentId }),
    ...(versions.length > 0 && { versions: versionText(versions) }),
  };
}

/** Formats versions, in ascending order, as runs: `1-3, 5`; of too many runs, only the first and last version. */
function versionText(versions: readonly number[]): string {
  const runs: [first: number, last: number][] = [];
  for (const version of versions) {
    const run = runs.at(-1);
    if (run && version <= run[1] + 1) run[1] = version;
    else runs.push([version, version]);
  }
  const text = ([first, last]: readonly [number, number]) =>
    first === last ? `${first}` : `${first}-${last}`;
  const [first, last] = [runs[0]?.[0] ?? 0, runs.at(-1)?.[1] ?? 0];
  return runs.length <= MOST_RUNS ? runs.map(text).join(', ') : `some of ${text([first, last])}`;
}

/** Who saw a patient's data, or an accounting of disclosures according to 45 CFR 164.528, which is derived from that. */
export const disclosureForms = ['access_report', 'accounting'] as const;
export type DisclosureForm = (typeof disclosureForms)[number];

/** What a report is to cover. Times are ISO 8601, UTC, to the millisecond. */
export interface DisclosureQuery {
  patientId: string;
  form: DisclosureForm;
  /** Disclosed at or after this; default for an accounting: `accountedFrom`, for an access report: the beginning. */
  from?: string | undefined;
  /** Disclosed before this; default: until now. */
  to?: string | undefined;
  /** For an accounting: omits what is exempt. */
  omitExempt?: boolean | undefined;
}

const YEARS_ACCOUNTED = 6;

/** Returns the default start of an accounting requested at a moment: the same day six years earlier, UTC. */
export function accountedFrom(now: Date): string {
  const from = new Date(now);
  from.setUTCHours(0, 0, 0, 0);
  from.setUTCFullYear(from.getUTCFullYear() - YEARS_ACCOUNTED);
  // There may be no 29 February.
  if (from.getUTCDate() !== now.getUTCDate()) from.setUTCDate(0);
  return from.toISOString();
}

/** Returns the query with its start time, which every report states. */
function withPeriod(query: DisclosureQuery): DisclosureQuery {
  const isOpen = query.form === 'accounting' && query.from === undefined;
  return isOpen ? { ...query, from: accountedFrom(new Date()) } : query;
}

export interface DisclosurePorts extends QueryPorts {
  names: PrincipalNames;
}

export interface DisclosurePage extends Page<Disclosure> {
  /** When the oldest audit trail entry examined was recorded; null when there was none. */
  lookedBackTo: string | null;
  /** The query with the period that it covers. */
  query: DisclosureQuery;
}

/**
 * Returns one page of the disclosures of a patient's data, newest first, including every access before the call. Its work is
 * bounded, as that of `readAuditTrail`, and by the number of the patient's own versions. The report is in the audit trail before
 * it is returned. Rejects with `not_found` when there never was such a patient, and with `unavailable`.
 */
export async function readDisclosures(
  ports: DisclosurePorts,
  caller: Caller,
  asked: DisclosureQuery,
  request: PageRequest,
): Promise<DisclosurePage> {
  const query = withPeriod(asked);
  const { filter, sightings } = await searchFor(ports, caller, query);
  const { items, ...page } = await readAuditTrail(ports, caller.workspace, filter, request);
  const disclosures = await toDisclosures(ports, items, sightings);
  await recordReport(ports, caller, query, { limit: request.limit });
  return { ...page, items: disclosures, query };
}

/** A whole report, and the query with the period that it covers. */
export interface DisclosureReport {
  query: DisclosureQuery;
  /** Newest first, several at a time. */
  parts: AsyncIterable<Disclosure[]>;
}

/**
 * Returns everything that `readDisclosures` returns page by page, as it is when the report begins: only one part at a time is in
 * memory. It is in the audit trail before anything is returned; `how` records there in what form it was requested. Rejects as
 * that does.
 */
export async function reportDisclosures(
  ports: DisclosurePorts,
  caller: Caller,
  asked: DisclosureQuery,
  how: Record<string, unknown>,
): Promise<DisclosureReport> {
  const query = withPeriod(asked);
  const { filter, sightings } = await searchFor(ports, caller, query);
  const entries = await wholeAuditTrail(ports, caller.workspace, filter);
  await recordReport(ports, caller, query, how);
  return { query, parts: inParts(ports, entries, sightings) };
}

async function searchFor(ports: DisclosurePorts, { workspace, requestId }: Caller, query: DisclosureQuery) {
  const sightings = new AccessIndex(await patientThings(ports, workspace, query.patientId));
  const { form, from, to, omitExempt, patientId } = query;
  const filter: AuditFilter = {
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    seen: sightings,
    scope: ['disclosures', patientId, form, omitExempt],
    // The report does not include itself.
    isWanted: (entry) =>
      entry.eventId !== requestId &&
      (form === 'access_report' || isAccounted(disclosureStatus(entry), omitExempt)),
  };
  return { filter, sightings };
}

async function* inParts(
  ports: DisclosurePorts,
  entries: AsyncIterable<AuditEntry[]>,
  sightings: AccessIndex,
): AsyncGenerator<Disclosure[]> {
  for await (const part of entries) yield await toDisclosures(ports, part, sightings);
}

async function toDisclosures(
  { names }: DisclosurePorts,
  entries: readonly AuditEntry[],
  sightings: AccessIndex,
): Promise<Disclosure[]> {
  await names.learn(entries.map(({ principal }) => principal));
  return entries.map((entry) => toDisclosure(entry, sightings, (principal) => names.nameOf(principal)));
}

async function recordReport(
  { eventLog }: DisclosurePorts,
  caller: Caller,
  { patientId, form, from, to, omitExempt }: DisclosureQuery,
  how: Record<string, unknown>,
): Promise<void> {
  const asked = { form, from, to, ...(omitExempt && { omit_exempt: true }), ...how };
  await recordAccess(eventLog, caller, {
    action: 'record.disclosures',
    kind: patient.kind,
    record_id: patientId,
    query: asked,
  });
}

/** Disclosures to the same recipient for the same purpose, which 45 CFR 164.528(b)(3) permits to be reported together. */
export type DisclosureSummary = Pick<
  Disclosure,
  'recipient' | 'recipient_address' | 'purpose' | 'purpose_statement' | 'principal' | 'webhook_id'
> &
  Pick<Disclosure, 'status' | 'exemption' | 'what' | 'what_more' | 'action'> & {
    first_disclosed_at: string;
    last_disclosed_at: string;
    /** How many there were. */
    disclosures: number;
  };

/**
 * Summarizes disclosures, given newest first: `what` and `action` are those of the first of the period. Without a recipient each
 * key and webhook is listed separately, and what was disclosed to a different address or with a different statement is listed
 * separately.
 */
export async function summarizeDisclosures(parts: AsyncIterable<Disclosure[]>): Promise<DisclosureSummary[]> {
  const summaries = new Map<string, DisclosureSummary>();
  for await (const part of parts) {
    for (const disclosure of part) {
      const { recipient, recipient_address, purpose, purpose_statement } = disclosure;
      const { principal, webhook_id, status, exemption, disclosed_at } = disclosure;
      const discloser = recipient === null ? [principal.type, principal.id, webhook_id] : [];
      const key = JSON.stringify([recipient, recipient_address, purpose, purpose_statement, ...discloser]);
      const later = summaries.get(key);
      summaries.set(key, {
        ...{ recipient, recipient_address, purpose, purpose_statement, principal, webhook_id },
        ...{ status, exemption },
        what: disclosure.what,
        what_more: disclosure.what_more,
        action: disclosure.action,
        first_disclosed_at: disclosed_at,
        last_disclosed_at: later?.last_disclosed_at ?? disclosed_at,
        disclosures: (later?.disclosures ?? 0) + 1,
      });
    }
  }
  return [...summaries.values()];
}

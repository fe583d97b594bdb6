import type { AuditEntry } from '../../../projections/auditAggregation.ts';
import type { Principal } from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { type DisclosureAdded, type DisclosureTerms, everyTerm } from '../../domain/events/payloads.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import { instantOf } from '../../domain/records/schema/isoDates.ts';
import { recordName } from '../../domain/records/schema/kind.ts';
import { ServiceError } from '../../platform/errors.ts';
import { decodeToken, encodeToken, type Page, type PageRequest } from '../records/queries/paging.ts';
import type { PrincipalNames } from '../records/queries/principalNames.ts';
import { type QueryPorts, readRecord } from '../records/queries/records.ts';
import { AccessIndex, type IndexedAccess, patientThings } from './accessIndex.ts';
import { describeContents } from './contentWords.ts';
import { readStatements, type Statement, type StatementsState } from './disclosureStatements.ts';
import { recordAccess } from './recordAccess.ts';
import { type AuditFilter, readAuditTrail, wholeAuditTrail } from './trail.ts';

/**
 * The status of an access under 45 CFR 164.528:
 * - `accountable`: a disclosure that an accounting includes.
 * - `purpose_not_given`: a disclosure without a stated purpose, so that it is accounted for.
 * - `exempt`: a disclosure for treatment, payment or health care operations, to the individual, or of a limited data set.
 * - `internal_use`: by the organization's own workforce, which is a use and not a disclosure (45 CFR 160.103).
 * - `deidentified`: nothing that identified anyone was disclosed (45 CFR 164.502(d), 164.514).
 */
export const disclosureStatuses = [
  'accountable',
  'purpose_not_given',
  'exempt',
  'internal_use',
  'deidentified',
] as const;
export type DisclosureStatus = (typeof disclosureStatuses)[number];

/** What exempts disclosures for treatment, payment and health care operations, to the individual, and of a limited data set. */
const EXEMPTION = '45 CFR 164.528(a)(1)(i)';
const EXEMPTION_OF_INDIVIDUALS = '45 CFR 164.528(a)(1)(ii)';
const EXEMPTION_OF_LIMITED_DATA = '45 CFR 164.528(a)(1)(viii)';

/**
 * Returns the status of an entry's access, given its terms. Users and operators are the workforce, unless they stated a recipient or
 * purpose. Without a purpose nothing is presumed exempt.
 */
function disclosureStatus(
  { action, principal, disclosedTo, shown }: AuditEntry,
  terms: DisclosureTerms,
): DisclosureStatus {
  if (isToIndividual(action)) return 'exempt';
  const isWorkforce = principal.type === 'user' || principal.type === 'operator';
  const isNamed = disclosedTo?.recipient !== undefined || disclosedTo?.purpose !== undefined;
  if (isWorkforce && !isNamed) return 'internal_use';
  if (shown?.view === 'deidentified') return 'deidentified';
  if (shown?.view === 'limited') return 'exempt';
  return statusOfPurpose(terms);
}

function statusOfPurpose({ purpose }: DisclosureTerms): DisclosureStatus {
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

/** Somebody, with the name that people call them. */
type Named = Principal & { name: string | null };

/** One access to a patient's data; reports list the newest first. */
export interface Disclosure {
  /** ISO 8601, UTC; of one that was added, as sent. What was sent to streams and webhooks is recorded within a minute. */
  disclosed_at: string;
  /** As in the audit trail: `record.read`, `webhook.sent` …; `DisclosureAdded` for one that was not made by the service. */
  action: string;
  /** How it was disclosed, if not by the service. */
  means: DisclosureAdded['means'] | null;
  /** Who read or sent the data, or added the disclosure. */
  principal: Named;
  webhook_id: string | null;
  /** What was disclosed, in words: without values, except dates of service and categories of documents. */
  description: string;
  what: DisclosedThing[];
  /** How many more things there were. */
  what_more: number;
  /** `id`: the entry names it; `range`: it lies where a list, stream, webhook or export was shown events, and may have been left out. */
  found_by: 'id' | 'range';
  /** The view of the events that was disclosed, if not everything. */
  view: 'reference' | 'limited' | 'deidentified' | null;
  /** As stated at the time of disclosure; null if not stated. */
  recipient: string | null;
  recipient_address: string | null;
  purpose: string | null;
  purpose_statement: string | null;
  /** By whom the purpose was stated later, if it was. */
  purpose_stated: { at: string; principal: Named; event_id: string } | null;
  status: DisclosureStatus;
  /** The provision that exempts it from accountings. */
  exemption: string | null;
  client_ip: string | null;
  request_id: string;
  event_id: string;
  position: number;
}

/** What a report is made from. */
interface Sources extends Pick<StatementsState, 'added' | 'purposes'> {
  sightings: AccessIndex;
}

/** Returns the terms of an entry: its purpose may have been stated later. */
function termsOf(
  id: string,
  given: DisclosureTerms,
  { purposes }: Pick<Sources, 'purposes'>,
): { terms: DisclosureTerms; later: ReturnType<StatementsState['purposes']['get']> } {
  const later = given.purpose === undefined ? purposes.get(id) : undefined;
  const { purpose, purpose_statement } = later?.data ?? {};
  return { terms: later ? { ...given, purpose, purpose_statement } : given, later };
}

type NameOf = (principal: Principal) => Named;

/** Returns the fields of the terms of an entry. */
function statedTerms(id: string, given: DisclosureTerms, sources: Sources, nameOf: NameOf) {
  const { terms, later } = termsOf(id, given, sources);
  const purpose_stated = later
    ? { at: later.recordedAt, principal: nameOf(later.metadata.principal), event_id: later.id }
    : null;
  return { ...everyTerm(terms), purpose_stated };
}

/** Converts an audit trail entry, which is a sighting. */
function toDisclosure(entry: AuditEntry, sources: Sources, nameOf: NameOf): Disclosure {
  const { principal, kind, id, shown, disclosedTo = {}, eventId } = entry;
  const status = statusIn(entry, sources);
  const accessed = sources.sightings.in(entry);
  const things = thingsIn(entry, accessed);
  return {
    disclosed_at: entry.recordedAt,
    action: entry.action ?? entry.type,
    means: null,
    principal: nameOf(principal),
    webhook_id: kind === 'webhook' ? (id ?? null) : null,
    description: describeContents(entry, accessed),
    what: things.slice(0, MOST_NAMED),
    what_more: Math.max(0, things.length - MOST_NAMED),
    found_by: shown === undefined || shown.things ? 'id' : 'range',
    view: shown?.view ?? null,
    ...statedTerms(eventId, disclosedTo, sources, nameOf),
    status,
    exemption: status === 'exempt' ? exemptionOf(entry) : null,
    client_ip: entry.clientIp ?? null,
    request_id: entry.requestId ?? eventId,
    event_id: eventId,
    position: entry.position,
  };
}

/** Converts a disclosure that the service did not make. */
function toAdded(
  { id, data, position, metadata }: Statement<DisclosureAdded>,
  sources: Sources,
  nameOf: NameOf,
): Disclosure {
  const status = statusOfPurpose(termsOf(id, data, sources).terms);
  return {
    disclosed_at: data.disclosed_at,
    ...{ action: 'DisclosureAdded', means: data.means, webhook_id: null },
    principal: nameOf(metadata.principal),
    description: data.description,
    what: [{ kind: patient.kind, id: data.patient_id }],
    ...{ what_more: 0, found_by: 'id', view: null },
    ...statedTerms(id, data, sources, nameOf),
    status,
    exemption: status === 'exempt' ? EXEMPTION : null,
    client_ip: metadata.clientIp ?? null,
    request_id: metadata.requestId,
    ...{ event_id: id, position },
  };
}

function exemptionOf({ action, shown }: AuditEntry): string {
  if (shown?.view === 'limited') return EXEMPTION_OF_LIMITED_DATA;
  return isToIndividual(action) ? EXEMPTION_OF_INDIVIDUALS : EXEMPTION;
}

function thingsIn(entry: AuditEntry, accessed: readonly IndexedAccess[]): DisclosedThing[] {
  const { kind, id, documentId, shown } = entry;
  if (shown !== undefined) return accessed.map(toThing);
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
  directory: {
    known: { workspaces: ReadonlyMap<string, { id: string; organization?: string | undefined }> };
  };
}

/** Whose disclosures a report lists, and who makes it. */
export interface ReportHead {
  /** The name of the workspace's organization; without one, the workspace's id. */
  organization: string;
  /** As it is now; null for an erased patient, and where there is none. */
  patient: { id: string; name: string | null; date_of_birth: string | null };
}

/** Returns the head of a report. Rejects with `unreadable` and `unavailable`. */
async function reportHead(ports: DisclosurePorts, workspace: string, id: string): Promise<ReportHead> {
  const record = await readRecord(ports, workspace, patient, id).then(
    (view) => view.record,
    (error) => {
      if (error instanceof ServiceError && error.code === 'gone') return undefined;
      throw error;
    },
  );
  const { organization = workspace } = ports.directory.known.workspaces.get(workspace) ?? {};
  const born = record?.date_of_birth;
  const name = record && recordName(record);
  return {
    organization,
    patient: { id, name: name ?? null, date_of_birth: typeof born === 'string' ? born : null },
  };
}

export interface DisclosurePage extends Page<Disclosure> {
  /** When the oldest audit trail entry examined was recorded; null when there was none. */
  lookedBackTo: string | null;
  /** The query with the period that it covers. */
  query: DisclosureQuery;
  head: ReportHead;
}

/**
 * Returns one page of the disclosures of a patient's data, newest first, including every access before the call, and beyond the limit
 * the disclosures of its time that were added. Its work is bounded, as that of `readAuditTrail`, and by the number of the patient's own versions. The report is in the audit trail before
 * it is returned. Rejects with `not_found` when there never was such a patient, and with `unavailable`.
 */
export async function readDisclosures(
  ports: DisclosurePorts,
  caller: Caller,
  asked: DisclosureQuery,
  request: PageRequest,
): Promise<DisclosurePage> {
  const query = withPeriod(asked);
  const { filter, sources } = await searchFor(ports, caller, query);
  const { pageToken, before } = placeOf(request.pageToken);
  const { items, ...page } = await readAuditTrail(ports, caller.workspace, filter, {
    limit: request.limit,
    pageToken,
  });
  const next = page.next_page_token;
  const oldest = items.length < request.limit ? page.lookedBackTo : items.at(-1)?.recordedAt;
  const from = next === null || !oldest ? Number.NEGATIVE_INFINITY : Math.min(before, Date.parse(oldest));
  const added = (await addedIn(ports, query, sources)).filter((one) => {
    const at = timeOf(one);
    return at >= from && at < before;
  });
  const disclosures = [...merge(await toDisclosures(ports, items, sources), added), ...added];
  const head = await reportHead(ports, caller.workspace, query.patientId);
  await recordReport(ports, caller, query, { limit: request.limit });
  const next_page_token = next === null ? null : `${next}.${encodeToken(from, [next])}`;
  return { ...page, items: disclosures, next_page_token, query, head };
}

/** Splits a page token: the place in the audit trail, and the time (milliseconds since 1970) before which its page begins. */
function placeOf(token: string | undefined): { pageToken: string | undefined; before: number } {
  if (token === undefined) return { pageToken: undefined, before: Number.POSITIVE_INFINITY };
  const [pageToken = '', time = ''] = token.split('.');
  return { pageToken, before: decodeToken(time, [pageToken]) };
}

const timeOf = ({ disclosed_at }: Disclosure): number => instantOf(disclosed_at);

/** Yields disclosures, newest first, and before each the later ones of `added`, which are removed from there. */
function* merge(disclosures: readonly Disclosure[], added: Disclosure[]): Generator<Disclosure> {
  for (const one of disclosures) {
    while (added[0] && timeOf(added[0]) >= timeOf(one)) yield added.shift() as Disclosure;
    yield one;
  }
}

/** A whole report, and the query with the period that it covers. */
export interface DisclosureReport {
  query: DisclosureQuery;
  head: ReportHead;
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
  const { filter, sources } = await searchFor(ports, caller, query);
  const entries = await wholeAuditTrail(ports, caller.workspace, filter);
  const added = await addedIn(ports, query, sources);
  const head = await reportHead(ports, caller.workspace, query.patientId);
  await recordReport(ports, caller, query, how);
  return { query, head, parts: inParts(ports, entries, sources, added) };
}

/**
 * Returns the disclosure with an id that an accounting of a patient would list, of any time; undefined when there is none. Nothing is
 * recorded of it. Rejects as `readDisclosures` does.
 */
export async function findDisclosure(
  ports: DisclosurePorts,
  caller: Caller,
  patientId: string,
  eventId: string,
): Promise<Disclosure | undefined> {
  const query = { patientId, form: 'accounting' } as const;
  const { filter, sources } = await searchFor(ports, caller, query);
  const { isWanted = () => true } = filter;
  const only = { ...filter, isWanted: (entry: AuditEntry) => entry.eventId === eventId && isWanted(entry) };
  const entries = await wholeAuditTrail(ports, caller.workspace, only);
  for await (const part of inParts(ports, entries, sources, await addedIn(ports, query, sources))) {
    const found = part.find(({ event_id }) => event_id === eventId);
    if (found) return found;
  }
  return undefined;
}

async function searchFor(ports: DisclosurePorts, { workspace, requestId }: Caller, query: DisclosureQuery) {
  const things = await patientThings(ports, workspace, query.patientId);
  const patientIds = things.filter(({ kind }) => kind === patient.kind).map(({ id }) => id);
  const statements = await readStatements(ports.eventLog, workspace, patientIds);
  const sources: Sources = { sightings: new AccessIndex(things), ...statements };
  const { form, from, to, omitExempt, patientId } = query;
  const filter: AuditFilter = {
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    seen: sources.sightings,
    scope: ['disclosures', patientId, form, omitExempt],
    // The report does not include itself.
    isWanted: (entry) =>
      entry.eventId !== requestId &&
      (form === 'access_report' || isAccounted(statusIn(entry, sources), omitExempt)),
  };
  return { filter, sources };
}

function statusIn(entry: AuditEntry, sources: Sources): DisclosureStatus {
  return disclosureStatus(entry, termsOf(entry.eventId, entry.disclosedTo ?? {}, sources).terms);
}

/** Returns the disclosures of the query that were added, newest first. Rejects with `unavailable`. */
async function addedIn(
  { names }: DisclosurePorts,
  { from, to, omitExempt }: DisclosureQuery,
  sources: Sources,
): Promise<Disclosure[]> {
  const nameOf = await namesIn(
    names,
    sources.added.map(({ metadata }) => metadata.principal),
    sources,
  );
  return sources.added
    .map((one) => toAdded(one, sources, nameOf))
    .filter((one) => {
      const at = timeOf(one);
      const isLate = to !== undefined && at >= Date.parse(to);
      return !isLate && (from === undefined || at >= Date.parse(from)) && isAccounted(one.status, omitExempt);
    })
    .toSorted((a, b) => timeOf(b) - timeOf(a));
}

/** Resolves with the names of those who did something, or stated a purpose later. Rejects with `unavailable`. */
async function namesIn(
  names: PrincipalNames,
  principals: readonly Principal[],
  { purposes }: Sources,
): Promise<NameOf> {
  await names.learn([...principals, ...[...purposes.values()].map(({ metadata }) => metadata.principal)]);
  return (principal) => ({ ...principal, name: names.nameOf(principal) ?? null });
}

async function* inParts(
  ports: DisclosurePorts,
  entries: AsyncIterable<AuditEntry[]>,
  sources: Sources,
  added: Disclosure[],
): AsyncGenerator<Disclosure[]> {
  for await (const part of entries) yield [...merge(await toDisclosures(ports, part, sources), added)];
  yield added;
}

async function toDisclosures(
  { names }: DisclosurePorts,
  entries: readonly AuditEntry[],
  sources: Sources,
): Promise<Disclosure[]> {
  const nameOf = await namesIn(
    names,
    entries.map(({ principal }) => principal),
    sources,
  );
  return entries.map((entry) => toDisclosure(entry, sources, nameOf));
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
  Pick<Disclosure, 'status' | 'exemption' | 'description' | 'what' | 'what_more' | 'action'> & {
    first_disclosed_at: string;
    last_disclosed_at: string;
    /** How many there were. */
    disclosures: number;
  };

/**
 * Summarizes disclosures, given newest first: `description`, `what` and `action` are those of the first of the period. Without a recipient each
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
        description: disclosure.description,
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

import { Readable } from 'node:stream';
import { z } from 'zod';
import { pageQuerySchema, pageRequest, pathId } from '../../../api/schemas/parameters.ts';
import { recordStream } from '../../../domain/events/streams.ts';
import { catalogEntry } from '../../../domain/records/catalog.ts';
import { requiredDate } from '../../../domain/records/schema/fields.ts';
import { instantOf } from '../../../domain/records/schema/isoDates.ts';
import type { CatalogEntry } from '../../../domain/records/schema/kind.ts';
import { validate } from '../../../domain/records/schema/validation.ts';
import { recordAccess, recordFurtherAccess } from '../../../modules/audit/recordAccess.ts';
import type { KeyDirectory } from '../../../modules/auth/keyDirectory.ts';
import type { UserDirectory } from '../../../modules/auth/users.ts';
import { type RecordView, readRecord } from '../../../modules/records/queries/records.ts';
import {
  MOST_CHANGES,
  MOST_ENCOUNTERS,
  readWholeTimeline,
  type TimelineFilter,
  type TimelineItem,
  type TimelineSubject,
  timelineSubjects,
  wholeTimeline,
} from '../../../modules/records/queries/wholeTimeline.ts';
import { csvLine } from '../../../platform/csv.ts';
import { filterForm, type InputField, input, messageOf, select } from '../../components/forms.ts';
import {
  type DashboardRoute,
  type Html,
  html,
  phiReaders,
  problemOf,
  type Refusal,
  type Reply,
  recordReaders,
  type Visit,
} from '../../components/page.ts';
import { pageLinks } from '../../components/paging.ts';
import { senderSuggestions } from '../../components/people.ts';
import { filledQuery, kindOf, recordsSection, textsOf, unlessBehind } from '../../components/recordTable.ts';
import { leftOut, tryAgain } from '../../components/text.ts';
import { momentInputs, shownMoment, zoneParameter } from '../../components/time.ts';
import { signedPath, timelinePath } from '../../components/urls.ts';
import { fileHeader, paperHead, periodWords } from './auditorFile.ts';
import { evidenceFooter, type FooterPorts } from './evidenceFooter.ts';
import { readHead } from './head.ts';
import { type ErasedPorts, orErased, readNames, referredIn } from './shared.ts';
import { accessesTo, itemList } from './timelineItems.ts';

const ENTRIES_A_PAGE = 25;
/** Maximum number of entries on paper. */
const MOST_PRINTED = 1_000;

const moment = requiredDate('2026-03-14T12:00').optional();
const querySchema = z.object({
  from: moment,
  to: moment,
  who: z.string().max(200).optional(),
  what: z.enum(timelineSubjects).optional(),
  page_token: pageQuerySchema.shape.page_token,
});
const parameters: readonly string[] = [...Object.keys(querySchema.shape), zoneParameter];

interface TimelinePorts extends FooterPorts, ErasedPorts {
  directory: KeyDirectory;
  users: UserDirectory;
}

/**
 * `…/records/{kinds}/{id}/timeline`: what happened to a record and everything below it, newest first, within limits;
 * as a page, on paper, or as a file.
 */
export function recordTimelineRoutes(ports: TimelinePorts): DashboardRoute[] {
  const path = '/workspaces/:workspace/records/:kind/:id/timeline';
  const route = (suffix: string, handle: (visit: Visit) => Promise<Reply>) =>
    orErased(ports, { method: 'get', path: path + suffix, roles: recordReaders, query: parameters, handle });
  return [
    { ...route('', (visit) => timelinePage(ports, visit)), opensWithReason: true },
    route('/print', (visit) => printedTimeline(ports, visit)),
    { ...route('/export', (visit) => exportTimeline(ports, visit)), report: 'history' },
  ];
}

/** The record and the limits that a request names. */
interface Asked {
  entry: CatalogEntry;
  id: string;
  filter: TimelineFilter;
  /** As in the address, without the page. */
  limits: Record<string, string>;
}

/** Throws `validation_failed`. */
function askedFor(visit: Visit): Asked {
  const entry = kindOf(visit.req.params.kind);
  const { page_token: _token, from, to, ...same } = validate(querySchema, filledQuery(visit.req));
  return {
    entry,
    id: pathId(visit.req, 'id', entry.title),
    filter: {
      ...same,
      ...{ from: from && instantOf(from), to: to && instantOf(to) },
      withoutDisclosures: !visit.may(phiReaders),
    } as TimelineFilter,
    limits: textsOf({ query: { from, to, ...same } as Record<string, string> }),
  };
}

async function timelinePage(ports: TimelinePorts, visit: Visit): Promise<Reply> {
  const { req, workspace, caller, may } = visit;
  const entry = kindOf(req.params.kind);
  const id = pathId(req, 'id', entry.title);
  // For an erased one, the page of the record shows what is left.
  const view = await readRecord(ports, workspace, entry, id);
  let asked: Asked;
  try {
    asked = askedFor(visit);
  } catch (error) {
    return refusedPage(ports, visit, entry, view, problemOf(error));
  }
  const { filter, limits } = asked;
  const { page_token } = textsOf({ query: filledQuery(req) });
  const request = pageRequest({
    query: { limit: String(ENTRIES_A_PAGE), ...(page_token && { page_token }) },
  });
  const [{ head, accesses }, found] = await Promise.all([
    readHead(ports, visit, entry, view, 'timeline'),
    unlessBehind(readWholeTimeline(ports, workspace, entry, id, request, filter)),
  ]);
  const items = found?.items ?? [];
  const named = await readNames(ports, workspace, namedIn(entry, id, items));
  await recordAccess(
    ports.eventLog,
    caller,
    { action: 'record.read', kind: entry.kind, record_id: id },
    ...accessesTo(items, { ...limits, ...request }),
    ...accesses,
    ...named.accesses,
  );
  const address = `/dashboard${timelinePath(workspace, entry.kind, id)}`;
  const withLimits = (path: string) => {
    const query = new URLSearchParams(limits).toString();
    return `${address}${path}${query && `?${query}`}`;
  };
  const body = html`${head}
${timelineForm(address, limits, senderSuggestions(ports, workspace))}
${
  found
    ? html`<div class="page-head"><h2>${changesText(found.total)}</h2>
${
  found.total > 0 &&
  may(recordReaders) &&
  html`<div class="actions"><a role="button" class="outline" href="${withLimits('/export')}" download>Export these ${changesText(found.total)} as CSV</a>
<a role="button" class="outline secondary" href="${signedPath(withLimits('/export'))}" download>Export with manifest</a>
<a role="button" class="outline secondary" href="${withLimits('/print')}">Print or save as PDF</a></div>`
}</div>
${itemList({ workspace, record: { kind: entry.kind, id }, names: named.names }, items)}`
    : tryAgain(req.originalUrl)
}
${found && leftOut(found.unreadable)}
${found && !found.isWhole && notWhole}
${pageLinks(req, { token: found?.next_page_token ?? null })}`;
  return { page: { title: 'Timeline', section: recordsSection, status: found ? 200 : 503, body } };
}

const notWhole = html`<p class="muted">Covers only the ${MOST_ENCOUNTERS} most recently changed encounters and the newest ${MOST_CHANGES.toLocaleString('en-US')} changes.</p>`;

async function refusedPage(
  ports: TimelinePorts,
  visit: Visit,
  entry: CatalogEntry,
  view: RecordView,
  refusal: Refusal,
): Promise<Reply> {
  const { workspace, caller, req } = visit;
  const { head, accesses } = await readHead(ports, visit, entry, view, 'timeline');
  const read = { action: 'record.read', kind: entry.kind, record_id: view.id } as const;
  await recordAccess(ports.eventLog, caller, read, ...accesses);
  const address = `/dashboard${timelinePath(workspace, entry.kind, view.id)}`;
  const body = html`${head}${timelineForm(address, textsOf({ query: filledQuery(req) }), senderSuggestions(ports, workspace), refusal)}`;
  return { page: { title: 'Timeline', section: recordsSection, status: refusal.status, body } };
}

function changesText(count: number): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? 'change' : 'changes'}`;
}

/** Returns what the entries of a page, and the fields that they changed, refer to besides the record itself. */
function namedIn({ kind }: CatalogEntry, id: string, items: readonly TimelineItem[]) {
  const subjects = items.flatMap((item) => {
    if ('of' in item) return item.of ?? [];
    if ('stated' in item) return [];
    const isRecord = !('documentId' in item) && item.kind !== 'billing';
    return { kind: isRecord ? item.kind : 'encounter', id: item.id };
  });
  const referred = items.flatMap(({ kind: of, version }) =>
    'changes' in version ? referredIn(catalogEntry(of), version.changes) : [],
  );
  return [...subjects.filter((one) => one.kind !== kind || one.id !== id), ...referred];
}

const subjectTexts: Record<TimelineSubject, string> = {
  record: 'The record itself',
  encounter: 'Encounters',
  document: 'Documents',
  billing: 'Billing',
  merge: 'Merges',
  hold: 'Legal holds',
  disclosure: 'Disclosures added, purposes stated',
  erasure: 'Erasures',
};

function timelineForm(
  address: string,
  sent: Record<string, string>,
  senders: InputField['suggestions'],
  refusal?: Refusal,
): Html {
  const moment = (name: string, label: string) => ({
    ...{ name, label, step: 1, value: shownMoment(sent[name]) },
    error: messageOf(refusal?.details, name),
  });
  return filterForm({
    path: address,
    limits: sent,
    refusal,
    fields: html`${momentInputs(moment('from', 'From'), moment('to', 'Before'))}
${input({ name: 'who', label: 'Who', type: 'search', value: sent.who, suggestions: senders, error: messageOf(refusal?.details, 'who'), placeholder: 'Name, ID' })}
${select({
  name: 'what',
  label: 'What',
  value: sent.what ?? '',
  options: [
    { value: '', text: 'Everything' },
    ...timelineSubjects.map((value) => ({ value, text: subjectTexts[value] })),
  ],
  error: messageOf(refusal?.details, 'what'),
})}`,
  });
}

/** Says what limits a timeline, for paper and files. */
function limitRows({ filter, limits }: Asked, isForFile = false): [string, string][] {
  return [
    ['Period', periodWords(limits, isForFile)],
    ...(limits.who ? ([['Changed by', limits.who]] as [string, string][]) : []),
    ...(filter.what ? ([['What', subjectTexts[filter.what]]] as [string, string][]) : []),
  ];
}

async function printedTimeline(ports: TimelinePorts, visit: Visit): Promise<Reply> {
  const { workspace, caller } = visit;
  const asked = askedFor(visit);
  const { entry, id, filter, limits } = asked;
  const view = await readRecord(ports, workspace, entry, id);
  const request = { limit: MOST_PRINTED, pageToken: undefined };
  const found = await readWholeTimeline(ports, workspace, entry, id, request, filter);
  const { names, accesses } = await readNames(ports, workspace, namedIn(entry, id, found.items));
  await recordAccess(
    ports.eventLog,
    caller,
    { action: 'record.read', kind: entry.kind, record_id: id },
    ...accessesTo(found.items, { ...limits, limit: MOST_PRINTED }),
    ...accesses,
  );
  const footer = await evidenceFooter(ports, recordStream(workspace, entry.kind, id));
  const back = `${timelinePath(workspace, entry.kind, id)}?${new URLSearchParams(limits).toString()}`;
  const body = html`<div class="paper">
${paperHead(visit, { title: 'Changes', back, entry, view, rows: limitRows(asked) })}
<h2>${changesText(found.total)}</h2>
${found.total > MOST_PRINTED && html`<p>Only the newest ${MOST_PRINTED.toLocaleString('en-US')} are printed here; the CSV file has all.</p>`}
${leftOut(found.unreadable)}
${!found.isWhole && notWhole}
${itemList({ workspace, record: { kind: entry.kind, id }, names, isPrinted: true }, found.items)}
${footer}
</div>`;
  return { page: { title: 'Changes, printable', section: recordsSection, body } };
}

const columns = [
  'recorded_at',
  'what',
  'id',
  'document_id',
  'version',
  'outcome',
  'field',
  'from',
  'to',
  'note',
  'by_type',
  'by_id',
  'by_name',
  'client_ip',
  'request_id',
  'event_id',
] as const;

async function exportTimeline(ports: TimelinePorts, visit: Visit): Promise<Reply> {
  const { workspace, caller } = visit;
  const asked = askedFor(visit);
  const { entry, id, filter, limits } = asked;
  const view = await readRecord(ports, workspace, entry, id);
  const parts = wholeTimeline(ports, workspace, entry, id, filter);
  await recordAccess(ports.eventLog, caller, { action: 'record.read', kind: entry.kind, record_id: id });
  const header = fileHeader(visit, { title: 'Changes', entry, view, rows: limitRows(asked, true) });
  async function* lines(): AsyncGenerator<string> {
    yield `${header}${csvLine(columns)}`;
    for await (const items of parts) {
      const accesses = accessesTo(items, { ...limits, format: 'csv' });
      for (const access of accesses) await recordFurtherAccess(ports.eventLog, caller, access);
      yield items.flatMap(linesOf).join('');
    }
  }
  const today = new Date().toISOString().slice(0, 10);
  const name = `changes-${entry.kind}-${workspace}-${today}.csv`;
  return { download: { type: 'text/csv; charset=utf-8', name, body: Readable.from(lines()) } };
}

/** Returns a line for each changed field, and one for an entry without any. */
function linesOf(item: TimelineItem): string[] {
  const { version } = item;
  const own: Partial<Record<(typeof columns)[number], string | number | undefined>> = {
    recorded_at: version.recorded_at,
    what: item.kind,
    id: 'of' in item ? item.of?.id : item.id,
    document_id: 'documentId' in item ? item.documentId : undefined,
    version: version.version,
    outcome: 'outcome' in version ? version.outcome : version.type,
    note: noteOf(item),
    by_type: version.principal.type,
    by_id: version.principal.id,
    by_name: version.principal.name ?? undefined,
    client_ip: version.client_ip ?? undefined,
    request_id: version.request_id,
    event_id: version.event_id,
  };
  const changes = 'changes' in version ? version.changes : [];
  const cell = (value: unknown) => (value === null ? undefined : String(value));
  const fields = changes.map(({ field, from, to }) => ({ field, from: cell(from), to: cell(to) }));
  return (fields.length === 0 ? [{}] : fields).map((field) => {
    const line = { ...own, ...field };
    return csvLine(columns.map((column) => line[column]));
  });
}

function noteOf(item: TimelineItem): string | undefined {
  if ('claimId' in item && item.claimId !== undefined) return `claim ${item.claimId}`;
  if ('stated' in item && item.stated.type === 'DisclosureAdded')
    return `${item.stated.data.description} (${item.stated.data.recipient})`;
  if ('said' in item && item.said !== undefined) return item.said;
  if ('filename' in item && item.filename !== undefined) return item.filename;
  return item.version.reason;
}

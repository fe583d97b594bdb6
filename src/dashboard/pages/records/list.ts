import type { Request } from 'express';
import { z } from 'zod';
import { recordsQuerySchema, requestedRecords } from '../../../api/routes/recordSchemas.ts';
import { statusOf } from '../../../api/server/answer.ts';
import { kindPartition, recordStream } from '../../../domain/events/streams.ts';
import { catalog } from '../../../domain/records/catalog.ts';
import { identifier } from '../../../domain/records/schema/fields.ts';
import { type CatalogEntry, recordName } from '../../../domain/records/schema/kind.ts';
import { validate, validationError } from '../../../domain/records/schema/validation.ts';
import { searchAccess } from '../../../modules/audit/accesses.ts';
import { type AccessRecorded, recordAccess } from '../../../modules/audit/recordAccess.ts';
import type { RecordExistence } from '../../../modules/records/commands/references.ts';
import { countRecords, listRecords } from '../../../modules/records/queries/lists.ts';
import type { QueryPorts, RecordView } from '../../../modules/records/queries/records.ts';
import {
  type SearchRequest,
  searchList,
  searchTextSchema,
  tidied,
} from '../../../modules/records/queries/search.ts';
import { total } from '../../components/charts.ts';
import { fieldLabel } from '../../components/labels.ts';
import { breadcrumb, searchPath } from '../../components/layout.ts';
import {
  type DashboardRoute,
  type Html,
  html,
  problemOf,
  type Refusal,
  type Reply,
  recordReaders,
  textOf,
  type Visit,
} from '../../components/page.ts';
import { pageLinks } from '../../components/paging.ts';
import { fieldValue } from '../../components/records.ts';
import {
  filledQuery,
  kindOf,
  namedFields,
  pluralTitle,
  recordsSection,
  recordTable,
  soughtKinds,
  textsOf,
  unlessBehind,
} from '../../components/recordTable.ts';
import { type TableColumn, table } from '../../components/tables.ts';
import { bdi, empty, idBeside, leftOut, time, tryAgain } from '../../components/text.ts';
import { zoneParameter } from '../../components/time.ts';
import { filteredPath, recordPath, recordsPath } from '../../components/urls.ts';
import { type RecentSearch, recentSearch, saveSearch, searchParameter } from '../../http/searches.ts';
import { NAME, namedBy, recordFilter, type Suggestions, suggestedFor } from './listFilter.ts';
import { readReferredNames, readSuggestions } from './shared.ts';
import { startPage } from './start.ts';

const RECORDS_A_PAGE = 50;

/** The parameters of the lists of all kinds: filters and sorting are in their addresses. */
const listParameters: readonly string[] = [
  ...new Set(catalog.flatMap((entry) => Object.keys(recordsQuerySchema(entry).shape))),
];

/** A list of records, and whether it could be shown. */
interface RecordList {
  body: Html;
  status: number;
}

/**
 * Resolves with the records of a kind that a request asks for, most recently changed first, or those with a name; records that they
 * were shown.
 */
async function readRecordList(
  ports: QueryPorts,
  visit: Visit,
  entry: CatalogEntry,
  missedId: string | undefined,
): Promise<RecordList> {
  const { req, workspace, caller } = visit;
  const { kind: _kind, id: _id, [searchParameter]: number, ...sent } = filledQuery(req);
  const limits = withoutPage(textsOf({ query: sent }));
  const named = typeof number === 'string' ? recentSearch(req, workspace, number) : undefined;
  const missed = missedId === undefined ? undefined : missedRecord(entry);
  const sentName = named && { [NAME]: named.text };
  const filter = (refusal = missed, suggestions?: Suggestions) =>
    recordFilter(
      visit,
      entry,
      { ...limits, ...(missedId && { id: missedId }), ...sentName },
      { refusal, suggestions },
    );
  if (number !== undefined && named === undefined)
    return {
      body: html`${filter()}${empty('This filter is no longer available. Enter the name again.')}`,
      status: 200,
    };
  if (named !== undefined && namedBy(entry) !== entry) {
    const choice = await unlessBehind(patientChoice(ports, visit, entry, { limits, named }));
    return {
      body: html`${filter()}${choice ?? tryAgain(req.originalUrl)}`,
      status: choice ? 200 : statusOf.unavailable,
    };
  }
  const { as_of: asOf } = limits;
  // As of a time there is one order, whatever the form says.
  const order = asOf === undefined ? {} : { sort: 'created_at' };
  const query = {
    ...{ limit: String(RECORDS_A_PAGE), sort: '-updated_at' },
    ...sent,
    ...order,
  } as Request['query'];
  try {
    const reading = requestedRecords(ports, { req: { query } }, entry, recordsQuerySchema(entry));
    const read = reading.then((asked) => readPage(ports, workspace, entry, asked, named));
    const found = await unlessBehind(read);
    if (found === undefined)
      return { body: html`${filter()}${tryAgain(req.originalUrl)}`, status: statusOf.unavailable };
    const { page, access, counted } = found;
    const fields = namedFields(entry.kind);
    const { names, accesses } = await readReferredNames(ports, workspace, entry, page.items, fields);
    const known = await readSuggestions(ports, workspace, suggestedFor(entry));
    await recordAccess(ports.eventLog, caller, access, ...accesses, ...known.accesses);
    const { sort = '-updated_at' } = limits;
    const address = (by: string) => listAddress(workspace, entry, { ...limits, sort: by });
    const shared = { workspace, entry, records: page.items, names };
    const isSorted = asOf === undefined && named === undefined;
    const shown = isSorted ? { ...shared, sorting: { sort, address } } : { ...shared, ...(asOf && { asOf }) };
    const otherPage = page.next_page_token ?? sent.page_token;
    const none =
      otherPage === undefined
        ? named && noneNamed(workspace, entry, { limits, named })
        : empty(`No ${entry.plural} on this page.`);
    const body = html`${filter(missed, known.suggestions)}
${asOf && html`<p>As of ${time(asOf)}, without what has been erased since.</p>`}
${page.items.length > 0 && total(counted, entry.kind, entry.plural)}
${(page.items.length === 0 && none) || recordTable(shown)}
${leftOut(page.unreadable)}
${pageLinks(req, { token: page.next_page_token, by: 'list', isShort: page.items.length === 0, part: 'list' })}`;
    return { body, status: 200 };
  } catch (error) {
    const refusal = problemOf(error);
    return { body: filter(refusal), status: refusal.status };
  }
}

/** Resolves with a page of a list, the access to it, and how many records there are, if that is known. Rejects as `listRecords` and `searchList` do. */
async function readPage(
  ports: QueryPorts,
  workspace: string,
  entry: CatalogEntry,
  { request, asked }: Awaited<ReturnType<typeof requestedRecords>>,
  named: RecentSearch | undefined,
) {
  const { limit, pageToken, filters, since, asOf } = request;
  if (named === undefined) {
    const { page, shown } = await listRecords(ports, workspace, entry, request);
    const counted =
      asOf === undefined
        ? await countRecords(ports, kindPartition(workspace, entry.kind), request)
        : undefined;
    const list = { action: 'record.list', kind: entry.kind, query: asked, ...(shown && { shown }) } as const;
    return { page, access: list, counted };
  }
  if (asOf !== undefined || since !== undefined)
    throw validationError([{ field: NAME, message: 'filters only the latest state' }]);
  const search = { text: named.text, limit, pageToken };
  const page = await searchList(ports, workspace, entry, { ...search, filters });
  const access = searchedFor(entry, search, page.items);
  return { page: { ...page, unreadable: [] }, access, counted: undefined };
}

/** A name by which a list is filtered, and its other filters. */
interface NameFilter {
  limits: Record<string, string>;
  named: RecentSearch;
}

/** Patients among whom one is chosen. */
const MOST_CHOICES = 25;

/**
 * Resolves with the patients that have a name, each of whom leads to their part of a list of encounters; records that they were shown.
 * Rejects with `unavailable`.
 */
async function patientChoice(
  ports: QueryPorts,
  { workspace, caller }: Visit,
  entry: CatalogEntry,
  filter: NameFilter,
): Promise<Html> {
  const whose = namedBy(entry);
  const search = { text: filter.named.text, limit: MOST_CHOICES, pageToken: undefined };
  const found = await searchList(ports, workspace, whose, search);
  await recordAccess(ports.eventLog, caller, searchedFor(whose, search, found.items));
  if (found.items.length === 0 && found.next_page_token === null) return noneNamed(workspace, entry, filter);
  const columns: TableColumn<RecordView>[] = [
    {
      title: whose.title,
      isHeader: true,
      cell: ({ id, record }) =>
        html`<a href="${listAddress(workspace, entry, { ...filter.limits, patient_id: id })}">${bdi(recordName(record) ?? id)}</a>`,
    },
    { title: fieldLabel('date_of_birth'), cell: ({ record }) => fieldValue(record.date_of_birth) },
    { title: 'ID', cell: ({ id }) => idBeside(id) },
  ];
  return html`<h2>Choose the patient</h2>
<div class="dense">${table(pluralTitle(whose), columns, found.items)}</div>
${found.next_page_token && html`<p class="muted">Only the first ${MOST_CHOICES} are listed. Add a word or the date of birth.</p>`}`;
}

function searchedFor(
  { kind }: CatalogEntry,
  search: Omit<SearchRequest, 'kinds'>,
  items: readonly RecordView[],
): AccessRecorded {
  const things = items.map(({ id }) => ({ kind, id, details: {} }));
  return searchAccess({ ...search, kinds: [kind] }, kind, things);
}

/** Returns what may be done where no record of a kind has a name. */
function noneNamed(workspace: string, entry: CatalogEntry, { limits, named }: NameFilter): Html {
  return html`<div class="empty"><p>No ${namedBy(entry).plural} match <mark>${bdi(named.text)}</mark>.</p>
<ul>
<li>Try fewer words, or only the beginning of a word.</li>
<li><a href="/dashboard${searchPath(workspace, named.number)}">Search all kinds of records</a></li>
<li><a href="${listAddress(workspace, entry, limits)}">Show without this name</a></li>
</ul></div>`;
}

function missedRecord({ title }: CatalogEntry): Refusal {
  const message = `There is no ${title.toLowerCase()} with this ID.`;
  return { status: statusOf.not_found, text: undefined, details: [{ field: 'id', message }] };
}

function withoutPage({ page_token: _token, ...limits }: Record<string, string>): Record<string, string> {
  return limits;
}

function listAddress(workspace: string, { kind }: CatalogEntry, query: Record<string, string>): string {
  return `/dashboard${filteredPath(workspace, kind, query)}#list`;
}

/** The kind in which an id is looked up where none is given. */
const FIRST_KIND = 'patients';

interface FindPorts extends QueryPorts {
  existence: RecordExistence;
}

/** `…/records`: the search; with a kind, its records, and a way to open one by its id. */
export function recordsRoutes(ports: FindPorts): DashboardRoute[] {
  return [
    {
      method: 'get',
      path: '/workspaces/:workspace/records',
      roles: recordReaders,
      query: ['kind', 'id', searchParameter, ...listParameters, zoneParameter],
      handle: (visit) => find(ports, visit),
    },
    { method: 'post', path: '/workspaces/:workspace/records', roles: recordReaders, handle: filtered },
  ];
}

const filterSchema = z.object({ [NAME]: searchTextSchema });

/** Takes a filter as typed; the address that follows has only a number for the name. */
async function filtered(visit: Visit): Promise<Reply> {
  const { req, workspace, form } = visit;
  const entry = kindOf(form.kind);
  const names = ['id', ...listParameters, zoneParameter];
  const isUsual = (name: string, value: string) => name === 'sort' && value === '-updated_at';
  const sent = names.map((name) => [name, textOf(form, name)] as const);
  const limits = Object.fromEntries(sent.filter(([name, value]) => value !== '' && !isUsual(name, value)));
  if (limits.as_of === undefined) delete limits[zoneParameter];
  const typed = textOf(form, NAME);
  if (typed === '') return { redirect: filteredPath(workspace, entry.kind, limits) };
  try {
    const text = tidied(validate(filterSchema, { [NAME]: typed })[NAME]);
    const number = saveSearch(req, { workspace, text });
    const query = { ...limits, [searchParameter]: String(number) };
    return { redirect: filteredPath(workspace, entry.kind, query) };
  } catch (error) {
    const refusal = problemOf(error);
    const body = recordFilter(visit, entry, { ...limits, [NAME]: typed }, { refusal });
    return listPage(visit, entry, { body, status: refusal.status });
  }
}

async function find(ports: FindPorts, visit: Visit): Promise<Reply> {
  const { req, workspace } = visit;
  const query = filledQuery(req);
  if (Object.keys(query).length === 0) return { page: await startPage(ports, visit) };
  const { kind = FIRST_KIND, id } = query;
  const entry = kindOf(kind);
  const sought = typeof id === 'string' ? id : undefined;
  if (sought !== undefined && (await exists(ports, workspace, entry, sought))) {
    return { redirect: recordPath(workspace, entry.kind, sought) };
  }
  const list = await readRecordList(ports, visit, entry, sought);
  const isMissed = sought !== undefined && list.status === 200;
  return listPage(visit, entry, isMissed ? { ...list, status: statusOf.not_found } : list);
}

function listPage({ workspace }: Visit, entry: CatalogEntry, list: RecordList): Reply {
  const title = pluralTitle(entry);
  const body = html`${breadcrumb([{ text: recordsSection, path: recordsPath(workspace) }])}
<h1 id="list">${title}</h1>
${kinds(workspace, entry)}
${list.body}`;
  return { page: { title, section: recordsSection, status: list.status, body } };
}

async function exists(
  { existence }: FindPorts,
  workspace: string,
  { kind }: CatalogEntry,
  id: string,
): Promise<boolean> {
  if (!identifier('', '').safeParse(id).success) return false;
  const missing = await existence.missing([recordStream(workspace, kind, id)]);
  return missing.size === 0;
}

function kinds(workspace: string, shown: CatalogEntry): Html {
  return html`<nav class="tabs" aria-label="Kinds of records"><ul>${soughtKinds.map(
    (entry) =>
      html`<li><a href="/dashboard${recordsPath(workspace, entry.kind)}"${
        entry === shown && html` aria-current="page"`
      }>${pluralTitle(entry)}</a></li>`,
  )}</ul></nav>`;
}

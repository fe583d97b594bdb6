import type { Request } from 'express';
import { recordsQuerySchema, requestedRecords } from '../../../api/routes/recordSchemas.ts';
import { statusOf } from '../../../api/server/answer.ts';
import { kindPartition, recordStream } from '../../../domain/events/streams.ts';
import { catalog } from '../../../domain/records/catalog.ts';
import { identifier } from '../../../domain/records/schema/fields.ts';
import type { CatalogEntry, FilterField } from '../../../domain/records/schema/kind.ts';
import { isFlag } from '../../../domain/records/searchIndex.ts';
import { recordAccess } from '../../../modules/audit/recordAccess.ts';
import type { RecordExistence } from '../../../modules/records/commands/references.ts';
import { countRecords, listRecords } from '../../../modules/records/queries/lists.ts';
import type { QueryPorts } from '../../../modules/records/queries/records.ts';
import { total } from '../../components/charts.ts';
import { filterForm, input, messageOf, searchForm, select } from '../../components/forms.ts';
import { fieldLabel } from '../../components/labels.ts';
import { breadcrumb } from '../../components/layout.ts';
import {
  type DashboardRoute,
  type Html,
  html,
  type Page,
  problemOf,
  type Refusal,
  type Reply,
  recordReaders,
  type Visit,
} from '../../components/page.ts';
import { pageLinks } from '../../components/paging.ts';
import {
  filledQuery,
  kindOf,
  namedFields,
  pluralTitle,
  recordsSection,
  recordTable,
  textsOf,
  unlessBehind,
} from '../../components/recordTable.ts';
import { leftOut, time, tryAgain } from '../../components/text.ts';
import { momentInputs, shownMoment, zoneParameter } from '../../components/time.ts';
import { recordPath, recordsPath } from '../../components/urls.ts';
import { readReferredNames } from './shared.ts';

const sorts = [
  { value: '-updated_at', text: 'Newest change' },
  { value: 'created_at', text: 'Oldest record' },
];

/** Returns the form that filters and sorts a list of a kind; `sent` is what it was sent with. */
function recordFilter(
  workspace: string,
  entry: CatalogEntry,
  sent: Record<string, string>,
  refusal?: Refusal,
): Html {
  return filterForm({
    path: `/dashboard${recordsPath(workspace, entry.kind)}`,
    limits: { ...sent, id: undefined, sort: undefined },
    refusal,
    fields: html`<input type="hidden" name="kind" value="${entry.plural}">
${input({ name: 'id', label: 'ID', type: 'search', value: sent.id, autocomplete: 'off', error: messageOf(refusal?.details, 'id') })}
${entry.filters.map((filter) => filterField(entry, filter, sent, refusal))}
${select({ name: 'sort', label: 'Order', value: sent.sort ?? '-updated_at', options: sorts })}
${momentInputs({ name: 'as_of', label: 'As of', value: shownMoment(sent.as_of), step: 1, error: messageOf(refusal?.details, 'as_of') })}`,
  });
}

function filterField(
  entry: CatalogEntry,
  { field, by }: FilterField,
  sent: Record<string, string>,
  refusal: Refusal | undefined,
): Html {
  const line = (name: string, label: string, type: 'search' | 'date') =>
    input({ name, label, type, value: sent[name], error: messageOf(refusal?.details, name) });
  const label = fieldLabel(field);
  if (by === 'range') {
    return html`${line(`${field}_from`, `${label}, from`, 'date')}${line(`${field}_to`, `${label}, to`, 'date')}`;
  }
  if (!isFlag(entry, field)) return line(field, label, 'search');
  return select({
    name: field,
    label,
    value: sent[field] ?? '',
    options: [
      { value: '', text: 'Any' },
      { value: 'true', text: 'Yes' },
      { value: 'false', text: 'No' },
    ],
    error: messageOf(refusal?.details, field),
  });
}

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
 * Resolves with the records of a kind that a request asks for, most recently changed first; records that they were
 * shown.
 */
async function readRecordList(
  ports: QueryPorts,
  { req, workspace, caller }: Visit,
  entry: CatalogEntry,
  missedId: string | undefined,
): Promise<RecordList> {
  const { kind: _kind, id: _id, ...sent } = filledQuery(req);
  const limits = withoutPage(textsOf({ query: sent }));
  const missed = missedId === undefined ? undefined : missedRecord(entry);
  const filter = (refusal = missed) =>
    recordFilter(workspace, entry, { ...limits, ...(missedId && { id: missedId }) }, refusal);
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
    const read = reading.then(async ({ request, asked }) => ({
      ...(await listRecords(ports, workspace, entry, request)),
      request,
      asked,
    }));
    const found = await unlessBehind(read);
    if (found === undefined) return { body: html`${filter()}${tryAgain(req.originalUrl)}`, status: 503 };
    const { page, shown, asked } = found;
    const fields = namedFields(entry.kind);
    const { names, accesses } = await readReferredNames(ports, workspace, entry, page.items, fields);
    const list = { action: 'record.list', kind: entry.kind, query: asked, ...(shown && { shown }) } as const;
    await recordAccess(ports.eventLog, caller, list, ...accesses);
    const { sort = '-updated_at' } = limits;
    const address = (by: string) => listAddress(workspace, entry, { ...limits, sort: by });
    const counted =
      asOf === undefined
        ? await countRecords(ports, kindPartition(workspace, entry.kind), found.request)
        : undefined;
    const table = { workspace, entry, records: page.items, names };
    const body = html`${filter()}
${asOf && html`<p>As of ${time(asOf)}, without what has been erased since.</p>`}
${page.items.length > 0 && total(counted, entry.kind, entry.plural)}
${recordTable(asOf === undefined ? { ...table, sorting: { sort, address } } : { ...table, asOf })}
${leftOut(page.unreadable)}
${pageLinks(req, { token: page.next_page_token, by: 'list', isShort: page.items.length === 0, part: 'list' })}`;
    return { body, status: 200 };
  } catch (error) {
    const refusal = problemOf(error);
    return { body: filter(refusal), status: refusal.status };
  }
}

function missedRecord({ title }: CatalogEntry): Refusal {
  const message = `There is no ${title.toLowerCase()} with this ID.`;
  return { status: statusOf.not_found, text: undefined, details: [{ field: 'id', message }] };
}

function withoutPage({ page_token: _token, ...limits }: Record<string, string>): Record<string, string> {
  return limits;
}

function listAddress(workspace: string, { kind }: CatalogEntry, query: Record<string, string>): string {
  return `/dashboard${recordsPath(workspace, kind)}&${new URLSearchParams(query).toString()}#list`;
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
      query: ['kind', 'id', ...listParameters, zoneParameter],
      handle: (visit) => find(ports, visit),
    },
  ];
}

async function find(ports: FindPorts, visit: Visit): Promise<Reply> {
  const { req, workspace } = visit;
  const query = filledQuery(req);
  if (Object.keys(query).length === 0) return { page: searchFirst(visit) };
  const { kind = FIRST_KIND, id } = query;
  const entry = kindOf(kind);
  const sought = typeof id === 'string' ? id : undefined;
  if (sought !== undefined && (await exists(ports, workspace, entry, sought))) {
    return { redirect: recordPath(workspace, entry.kind, sought) };
  }
  const list = await readRecordList(ports, visit, entry, sought);
  const isMissed = sought !== undefined && list.status === 200;
  const title = pluralTitle(entry);
  const body = html`${breadcrumb([{ text: recordsSection, path: recordsPath(workspace) }])}
<h1 id="list">${title}</h1>
${kinds(workspace, entry)}
${list.body}`;
  return {
    page: { title, section: recordsSection, status: isMissed ? 404 : list.status, body },
  };
}

/** Shows no records until something is searched for. */
function searchFirst(visit: Visit): Page {
  return {
    title: recordsSection,
    section: recordsSection,
    body: html`<h1>Records</h1>
${searchForm(visit)}
<h2>Lists</h2>
<p>All records of a kind, to be filtered; also one by its exact ID, as soon as it was sent.</p>
${kinds(visit.workspace)}`,
  };
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

function kinds(workspace: string, shown?: CatalogEntry): Html {
  return html`<nav class="tabs" aria-label="Kinds of records"><ul>${catalog.map(
    (entry) =>
      html`<li><a href="/dashboard${recordsPath(workspace, entry.kind)}"${
        entry === shown && html` aria-current="page"`
      }>${pluralTitle(entry)}</a></li>`,
  )}</ul></nav>`;
}

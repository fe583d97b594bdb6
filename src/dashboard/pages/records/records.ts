import { recordStream } from '../../../domain/events/streamNames.ts';
import { type CatalogEntry, catalog } from '../../../domain/records/catalog.ts';
import { identifier } from '../../../domain/records/schema/fields.ts';
import type { RecordExistence } from '../../../modules/records/commands/RecordExistence.ts';
import type { QueryPorts } from '../../../modules/records/queries/readRecord.ts';
import { input, select } from '../../components/formFields.ts';
import { type Html, html } from '../../components/html.ts';
import { recordPath, recordsPath } from '../../components/recordPaths.ts';
import { filledQuery, kindOf, pluralTitle, recordsSection } from '../../components/recordQuery.ts';
import {
  type DashboardRoute,
  type Page,
  type Reply,
  recordReaders,
  type Visit,
} from '../../components/route.ts';
import { searchForm } from '../../components/searchForm.ts';
import { listParameters, readRecordList } from './recordList.ts';

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
      query: ['kind', 'id', ...listParameters],
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
  const list = await readRecordList(ports, visit, entry);
  const isMissed = sought !== undefined && list.status === 200;
  const body = html`<h1>Records</h1>
${findForm(entry, sought)}
<h2 id="list">${pluralTitle(entry)}</h2>
${kinds(workspace, entry)}
${list.body}`;
  return {
    page: { title: recordsSection, section: recordsSection, status: isMissed ? 404 : list.status, body },
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
<p>All records of a kind. Filter them, or find one by its exact ID.</p>
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

function findForm({ plural, title }: CatalogEntry, missedId: string | undefined): Html {
  return html`<form method="get" class="find" aria-label="Find a record">
${select({
  name: 'kind',
  label: 'Kind',
  value: plural,
  options: catalog.map((entry) => ({ value: entry.plural, text: entry.title })),
})}
${input({
  name: 'id',
  label: 'ID',
  value: missedId,
  error: missedId === undefined ? undefined : `There is no ${title.toLowerCase()} with this ID.`,
  hint: 'Exactly as the sending system writes it.',
  autocomplete: 'off',
})}
<button type="submit">Find</button>
</form>`;
}

function kinds(workspace: string, shown?: CatalogEntry): Html {
  return html`<nav class="tabs" aria-label="Kinds of records"><ul>${catalog.map(
    (entry) =>
      html`<li><a href="/dashboard${recordsPath(workspace, entry.kind)}"${
        entry === shown && html` aria-current="page"`
      }>${pluralTitle(entry)}</a></li>`,
  )}</ul></nav>`;
}

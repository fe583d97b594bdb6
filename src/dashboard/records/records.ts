import { recordAccess } from '../../audit/recordAccess.ts';
import type { RecordExistence } from '../../commands/RecordExistence.ts';
import { recordStream } from '../../events/streamNames.ts';
import { pageRequest } from '../../http/endpoints/parameters.ts';
import { listRecords } from '../../reads/listRecords.ts';
import type { QueryPorts, RecordView } from '../../reads/readRecord.ts';
import { type CatalogEntry, catalog } from '../../records/catalog.ts';
import { identifier } from '../../records/fields.ts';
import { recordName } from '../../records/recordName.ts';
import { type Html, html } from '../shell/html.ts';
import { type DashboardRoute, phiReaders, type Reply, type Visit } from '../shell/route.ts';
import { fieldLabel } from '../ui/fieldLabel.ts';
import { input, select } from '../ui/formFields.ts';
import { fieldValue } from '../ui/recordFields.ts';
import { table } from '../ui/table.ts';
import { empty, leftOut, time, tryAgain } from '../ui/text.ts';
import { recordPath, recordsPath } from './recordPaths.ts';
import {
  filledQuery,
  kindOf,
  pageParameters,
  pluralTitle,
  recordsSection,
  unlessBehind,
} from './recordQuery.ts';

/** The kind that is shown first. */
const FIRST_KIND = 'patients';

interface FindPorts extends QueryPorts {
  existence: RecordExistence;
}

/** `…/records`: the records of a kind, and how to come to one by its id. */
export function recordsRoutes(ports: FindPorts): DashboardRoute[] {
  return [
    {
      method: 'get',
      path: '/workspaces/:workspace/records',
      roles: phiReaders,
      query: ['kind', 'id', ...pageParameters],
      handle: (visit) => find(ports, visit),
    },
  ];
}

async function find(ports: FindPorts, { req, workspace, caller }: Visit): Promise<Reply> {
  const { kind = FIRST_KIND, id, ...query } = filledQuery(req);
  const entry = kindOf(kind);
  const sought = typeof id === 'string' ? id : undefined;
  if (sought !== undefined && (await exists(ports, workspace, entry, sought))) {
    return { redirect: recordPath(workspace, entry.kind, sought) };
  }
  const request = pageRequest({ query });
  const { page: list, shown } = (await unlessBehind(listRecords(ports, workspace, entry, request))) ?? {};
  if (list !== undefined) {
    await recordAccess(ports.eventLog, caller, {
      action: 'record.list',
      kind: entry.kind,
      query: { ...request },
      ...(shown && { shown }),
    });
  }
  const status = list === undefined ? 503 : sought === undefined ? 200 : 404;
  const body = html`<h1>Records</h1>
${findForm(entry, sought)}
<h2 id="list">${pluralTitle(entry)}</h2>
${kinds(workspace, entry)}
${list === undefined ? tryAgain(req.originalUrl) : recordTable(workspace, entry, list.items)}
${list !== undefined && leftOut(list.unreadable)}
${list?.next_page_token && nextPage(workspace, entry, list.next_page_token)}`;
  return { page: { title: recordsSection, section: recordsSection, status, body } };
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
  error: missedId === undefined ? undefined : `There is no ${title.toLowerCase()} with this id.`,
  hint: 'Exactly as the sending system writes it.',
  autocomplete: 'off',
})}
<button type="submit">Find</button>
</form>`;
}

function kinds(workspace: string, { kind: shown }: CatalogEntry): Html {
  return html`<nav class="tabs" aria-label="Kinds of records"><ul>${catalog.map(
    (entry) =>
      html`<li><a href="/dashboard${recordsPath(workspace, entry.kind)}"${
        entry.kind === shown && html` aria-current="page"`
      }>${pluralTitle(entry)}</a></li>`,
  )}</ul></nav>`;
}

function recordTable(workspace: string, entry: CatalogEntry, records: readonly RecordView[]): Html {
  const { kind, listedBy } = entry;
  if (records.length === 0) return empty(`There are no ${entry.plural} here.`);
  return table(
    pluralTitle(entry),
    [
      {
        title: 'ID',
        isHeader: true,
        cell: ({ id }) => html`<a href="/dashboard${recordPath(workspace, kind, id)}">${id}</a>`,
      },
      listedBy !== undefined
        ? { title: fieldLabel(listedBy), cell: ({ record }) => fieldValue(record[listedBy]) }
        : { title: 'Name', cell: ({ record }) => recordName(record) },
      { title: 'Version', cell: ({ version }) => version },
      { title: 'Created', cell: ({ created_at }) => time(created_at) },
      { title: 'Last change', cell: ({ updated_at }) => time(updated_at) },
    ],
    records,
  );
}

function nextPage(workspace: string, { kind }: CatalogEntry, token: string): Html {
  const address = `/dashboard${recordsPath(workspace, kind)}&page_token=${encodeURIComponent(token)}#list`;
  return html`<p><a href="${address}" rel="next">Next page</a></p>`;
}

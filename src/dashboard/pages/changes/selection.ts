import type { Request } from 'express';
import type { AppPorts } from '../../../api/routes/index.ts';
import { subjectKinds } from '../../../domain/records/catalog.ts';
import { encounter } from '../../../domain/records/kinds/encounter.ts';
import { changeFormats, listParts, recordedPage, type SelectedList } from '../../../modules/audit/changes.ts';
import { recordFurtherAccess } from '../../../modules/audit/recordAccess.ts';
import type { UserDirectory } from '../../../modules/auth/users.ts';
import { readSources } from '../../../modules/integrations/sources.ts';
import type { RecordNames } from '../../../modules/records/queries/lists.ts';
import type { SelectedRecord } from '../../../modules/records/queries/selectedWrites.ts';
import { filterForm, input, messageOf, select } from '../../components/forms.ts';
import { titleOf } from '../../components/labels.ts';
import { breadcrumb } from '../../components/layout.ts';
import {
  type DashboardRoute,
  type Html,
  type HtmlValue,
  html,
  phiReaders,
  problemOf,
  type Refusal,
  type Reply,
  type Visit,
} from '../../components/page.ts';
import { pageLinks } from '../../components/paging.ts';
import { principalChoices } from '../../components/people.ts';
import { filledQuery, textsOf } from '../../components/recordTable.ts';
import type { TableColumn } from '../../components/tables.ts';
import { bdi, empty, idBeside } from '../../components/text.ts';
import { momentInputs, shownMoment, sinceLinks, zoneParameter } from '../../components/time.ts';
import { documentsPath, recordPath, signedPath } from '../../components/urls.ts';
import { readNames } from '../records/shared.ts';

export const changesSection = 'Changes';

/** What selects writes, by the fields of the form. */
export const selectionParameters = ['principal', 'source', 'request', 'from', 'to', 'kind'] as const;

const PAGE = 50;
/** Records that are counted: a second of work, or some. */
const MOST_COUNTED = 10_000;

export type ChangesPorts = AppPorts & { users: UserDirectory };

/** Returns the address of a page of changes; `suffix` is its place below that of the section. */
export function changesPath(
  workspace: string,
  suffix: string,
  sent: Readonly<Record<string, string>> = {},
): string {
  const query = new URLSearchParams(sent).toString();
  return `/dashboard/workspaces/${workspace}/changes${suffix}${query && `?${query}`}`;
}

/** What was sent to select writes, by the fields of the form; moments in UTC. */
type Sent = Readonly<Record<string, string>>;

/** A page about the records with selected writes. */
interface SelectionPage<Item extends SelectedRecord> {
  suffix: '' | '/diff' | '/undo';
  title: string;
  /** What it shows, below its title. */
  lead(workspace: string): HtmlValue;
  /** What the two moments are called. */
  labels: readonly [from: string, to: string];
  /** What stands in for an empty list. */
  none: string;
  /** Throws `validation_failed` for a selection that is none. */
  list(sent: Sent, visit: Visit): SelectedList<Item>;
  /** What can be done with the list. */
  actions(workspace: string, sent: Sent): HtmlValue;
  /** Returns the rows of a page, without the column of the records. */
  table(items: readonly Item[], recordColumn: TableColumn<SelectedRecord>): Promise<Html>;
  /** Returns what is counted. */
  counts(parts: AsyncIterable<Item[]>, visit: Visit, sent: Sent): Promise<Html>;
}

/** Returns the page and, as counting takes longer than a page does, its counts, which it asks for when it is shown. */
export function selectionRoutes<Item extends SelectedRecord>(
  ports: ChangesPorts,
  page: SelectionPage<Item>,
): DashboardRoute[] {
  const path = `/workspaces/:workspace/changes${page.suffix}`;
  const query = [...selectionParameters, zoneParameter];
  const roles = phiReaders;
  return [
    {
      ...{ method: 'get', path, roles, query: [...query, 'page_token', 'earlier'] },
      handle: (visit) => show(ports, visit, page),
    },
    {
      ...{ method: 'get', path: `${path}/counts`, roles, query },
      handle: (visit) => showCounts(ports, visit, page),
    },
  ];
}

async function show<Item extends SelectedRecord>(
  ports: ChangesPorts,
  visit: Visit,
  page: SelectionPage<Item>,
): Promise<Reply> {
  const { req, workspace } = visit;
  const { title, suffix } = page;
  const { page_token: pageToken, ...sent } = textsOf({ query: filledQuery(req) });
  let found: Html | undefined;
  let refusal: Refusal | undefined;
  try {
    if (Object.keys(sent).length > 0) found = await shownList(ports, visit, page, sent, pageToken);
  } catch (error) {
    refusal = problemOf(error);
  }
  const body = html`${crumbs(workspace, suffix)}
<h1>${title}</h1>
<p>${page.lead(workspace)}</p>
${await selectionForm(ports, workspace, page, sent, refusal)}
${refusal === undefined && sinceLinks(changesPath(workspace, suffix), sent)}
${refusal === undefined && (found ?? empty('Choose since when.'))}`;
  return { page: { title, section: changesSection, body, ...(refusal && { status: refusal.status }) } };
}

const crumbs = (workspace: string, suffix: string) =>
  suffix !== '' && breadcrumb([{ text: changesSection, path: `/workspaces/${workspace}/changes` }]);

async function shownList<Item extends SelectedRecord>(
  ports: ChangesPorts,
  visit: Visit,
  page: SelectionPage<Item>,
  sent: Sent,
  pageToken: string | undefined,
): Promise<Html> {
  const { req, workspace, caller } = visit;
  const list = page.list(sent, visit);
  const { items, next_page_token: token } = await recordedPage(ports, caller, list, {
    ...{ limit: PAGE, pageToken },
  });
  if (items.length === 0 && pageToken === undefined) return empty(page.none);
  const named = items.map(({ kind, id }) => ({ kind: kind === 'document' ? encounter.kind : kind, id }));
  const { names, accesses } = await readNames(ports, workspace, named);
  for (const access of accesses) await recordFurtherAccess(ports.eventLog, caller, access);
  const counts = changesPath(workspace, `${page.suffix}/counts`, sent);
  return html`${
    pageToken === undefined &&
    html`<div id="counts" hx-get="${counts}" hx-trigger="load" hx-select="#counts" hx-swap="outerHTML"><p><a href="${counts}" aria-busy="true">Count the records</a></p></div>`
  }
<div class="page-head"><h2>Records</h2><div class="actions">${page.actions(workspace, sent)}</div></div>
<div class="dense">${await page.table(items, recordColumn(workspace, names))}</div>
${pageLinks(req, { token, by: 'list' })}`;
}

async function showCounts<Item extends SelectedRecord>(
  { readModels }: ChangesPorts,
  visit: Visit,
  page: SelectionPage<Item>,
): Promise<Reply> {
  const { req, workspace, caller } = visit;
  const sent = textsOf({ query: filledQuery(req) });
  const parts = listParts(readModels, caller, page.list(sent, visit));
  const body = html`${crumbs(workspace, page.suffix)}
<h1>${page.title}</h1>
<div id="counts">${await page.counts(parts, visit, sent)}</div>`;
  return { page: { title: page.title, section: changesSection, body } };
}

/** Calls `count` with each item, up to about `most` of them; resolves with the note that these are not all, where they are not. */
export async function countSome<Item>(
  parts: AsyncIterable<Item[]>,
  count: (item: Item) => void,
  most = MOST_COUNTED,
): Promise<Html | undefined> {
  let counted = 0;
  for await (const part of parts) {
    for (const item of part) count(item);
    counted += part.length;
    if (counted >= most)
      return html`<p class="muted">Only the first ${counted.toLocaleString('en-US')} records are counted.</p>`;
  }
  return undefined;
}

async function selectionForm(
  ports: ChangesPorts,
  workspace: string,
  { suffix, labels }: Pick<SelectionPage<never>, 'suffix' | 'labels'>,
  sent: Sent,
  refusal?: Refusal,
): Promise<Html> {
  const field = (name: (typeof selectionParameters)[number], label: string) => ({
    ...{ name, label, value: sent[name] ?? '', error: messageOf(refusal?.details, name) },
  });
  const instant = (name: 'from' | 'to', label: string) => ({
    ...{ ...field(name, label), value: shownMoment(sent[name]), step: 1, isRequired: name === 'from' },
  });
  const choice = (
    name: (typeof selectionParameters)[number],
    label: string,
    any: string,
    options: { value: string; text: string }[],
  ) => select({ ...field(name, label), options: [{ value: '', text: any }, ...options] });
  const sources = (await readSources(ports.eventLog, workspace)).map(({ id }) => ({ value: id, text: id }));
  const kinds = subjectKinds.map((kind) => ({ value: kind, text: titleOf(kind) }));
  return filterForm({
    path: changesPath(workspace, suffix),
    limits: sent,
    refusal,
    fields: html`${momentInputs(instant('from', labels[0]), instant('to', labels[1]))}
${choice('principal', 'Written by', 'Anyone', principalChoices(ports, workspace, sent.principal))}
${choice('source', 'Source', 'Any source', sources)}
${choice('kind', 'Kind', 'Any kind', kinds)}
${input({ ...field('request', 'Request ID'), type: 'search' })}`,
  });
}

/** Returns the column of the records, each by its name and id. */
function recordColumn(workspace: string, names: RecordNames | undefined): TableColumn<SelectedRecord> {
  return {
    title: 'Record',
    ...{ isHeader: true, isCut: true },
    cell: ({ kind, id, document_id }) => {
      const name = document_id ?? names?.nameOf(kind, id);
      const path =
        document_id === undefined
          ? recordPath(workspace, kind, id)
          : documentsPath(workspace, id, document_id);
      return html`<span class="muted">${titleOf(kind)}</span> <a href="/dashboard${path}">${bdi(name ?? id)}</a>${name !== undefined && html` ${idBeside(id)}`}`;
    },
  };
}

/** Returns the downloads of a list; `suffix` is the place of its files. */
export function exportLinks(workspace: string, suffix: string, sent: Sent): Html[] {
  const pathOf = (format: string) => changesPath(workspace, suffix, { ...sent, format });
  const link = (path: string, text: string) =>
    html`<a role="button" class="outline secondary" href="${path}" download>${text}</a> `;
  return [
    ...changeFormats.map((format) => link(pathOf(format), `Export as ${format.toUpperCase()}`)),
    link(signedPath(pathOf('csv')), 'Export with manifest'),
  ];
}

export const figure = (count: number, thing: string): string =>
  `${count.toLocaleString('en-US')} ${thing}${count === 1 ? '' : 's'}`;

/** Returns the texts of a form of this selection that was sent. */
export function selectionSent(form: Visit['form']): Record<string, string> {
  const sent = textsOf({ query: form as Request['query'] });
  return Object.fromEntries(selectionParameters.flatMap((name) => (sent[name] ? [[name, sent[name]]] : [])));
}

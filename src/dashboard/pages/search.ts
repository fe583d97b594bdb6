import { z } from 'zod';
import { validate } from '../../domain/records/schema/validate.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { searchAccess } from '../../modules/audit/searchAccess.ts';
import { scopeKinds } from '../../modules/auth/permissions.ts';
import type { QueryPorts } from '../../modules/records/queries/readRecord.ts';
import { type Found, searchRecords } from '../../modules/records/queries/searchRecords.ts';
import { searchTextSchema, tidied } from '../../modules/records/queries/searchText.ts';
import { fieldLabel } from '../components/fieldLabel.ts';
import { messageOf } from '../components/formFields.ts';
import { type Html, html } from '../components/html.ts';
import { documentsPath, recordPath } from '../components/recordPaths.ts';
import { recordsSection, textsOf, unlessBehind } from '../components/recordQuery.ts';
import {
  type DashboardRoute,
  type Reply,
  recordReaders,
  requestReaders,
  type Visit,
} from '../components/route.ts';
import { searchPath } from '../components/searchBox.ts';
import { searchForm } from '../components/searchForm.ts';
import { refusalOf, textOf } from '../components/sentForm.ts';
import { table } from '../components/table.ts';
import { badge, code, empty, time, tryAgain } from '../components/text.ts';
import { refusedRequestOf, requestResult } from './refusedRequestOf.ts';
import { type RememberedSearch, rememberedSearch, rememberSearch } from './rememberedSearches.ts';

const PAGE = 25;
const path = '/workspaces/:workspace/search';
const formSchema = z.object({ q: searchTextSchema, kind: z.enum(scopeKinds).optional() });

/** `…/search`: records and documents by what people know about them. */
export function searchRoutes(ports: QueryPorts): DashboardRoute[] {
  return [
    {
      method: 'get',
      path,
      roles: recordReaders,
      query: ['n', 'page_token'],
      handle: (visit) => show(ports, visit),
    },
    { method: 'post', path, roles: recordReaders, isOnEveryPage: true, handle: take },
  ];
}

/** Takes what was typed; the address that follows has only a number for it. */
async function take(visit: Visit): Promise<Reply> {
  const { req, workspace, form } = visit;
  const kind = textOf(form, 'kind');
  const typed = { q: textOf(form, 'q'), ...(kind !== '' && { kind }) };
  if (typed.q === '') return { redirect: searchPath(workspace) };
  try {
    const { q, ...narrowed } = validate(formSchema, typed);
    const number = rememberSearch(req, {
      workspace,
      text: tidied(q),
      ...(narrowed.kind && { kind: narrowed.kind }),
    });
    return { redirect: searchPath(workspace, number) };
  } catch (error) {
    const { status, details } = refusalOf(error);
    const problem = messageOf(details, 'q') ?? messageOf(details, 'kind');
    return searchPage(searchForm(visit, typed.q, kind, problem && `This ${problem}.`), status);
  }
}

async function show(ports: QueryPorts, visit: Visit): Promise<Reply> {
  const { req, workspace, caller, may } = visit;
  const { n, page_token: pageToken } = textsOf(req);
  const asked = rememberedSearch(req, workspace, n);
  if (asked === undefined) {
    return searchPage(html`${searchForm(visit)}
${n !== undefined && empty('This search is no longer available. Enter it again.')}`);
  }
  const { text, kind } = asked;
  const request = { text, kinds: kind === undefined ? scopeKinds : [kind], limit: PAGE, pageToken };
  const isFurther = pageToken !== undefined;
  const reading = Promise.all([
    searchRecords(ports, workspace, request),
    isFurther || !may(requestReaders) ? undefined : refusedRequestOf(ports, workspace, asked),
  ]);
  const [found, refused] = (await unlessBehind(reading)) ?? [];
  if (found === undefined) {
    return searchPage(html`${searchForm(visit, text, kind)}${tryAgain(req.originalUrl)}`, 503);
  }
  const accesses = refused ? [refused.access] : [];
  await recordAccess(ports.eventLog, caller, searchAccess(request, kind, found.items), ...accesses);
  return searchPage(html`${searchForm(visit, text, kind)}
${refused && requestResult(workspace, refused.entry)}
${(found.items.length > 0 || !refused) && results(workspace, asked, found.items, isFurther)}
${found.next_page_token && nextPage(workspace, asked, found.next_page_token)}`);
}

function searchPage(body: Html, status = 200): Reply {
  const page = html`<h1>Search</h1>
${body}`;
  return { page: { title: 'Search', section: recordsSection, status, body: page } };
}

function results(
  workspace: string,
  { text }: RememberedSearch,
  items: readonly Found[],
  isFurther: boolean,
): Html {
  if (items.length === 0) {
    return empty(
      isFurther
        ? 'No more results.'
        : html`Nothing matches all of ${code(text)}. Try fewer words, or the beginning of a word.`,
    );
  }
  return table(
    'Results',
    [
      {
        title: 'Name',
        isHeader: true,
        cell: (found) => html`<a href="/dashboard${pathOf(workspace, found)}">${found.title}</a>`,
      },
      {
        title: 'Kind',
        cell: ({ kind, removed }) =>
          html`${fieldLabel(kind)}${removed && html` ${badge('removed', 'neutral')}`}`,
      },
      { title: 'ID', cell: ({ id }) => code(id) },
      { title: 'Details', cell: ({ details }) => detailsText(details) },
      { title: 'Last change', cell: ({ updated_at }) => time(updated_at) },
    ],
    items,
  );
}

function pathOf(workspace: string, { kind, id, details }: Found): string {
  return kind === 'document'
    ? documentsPath(workspace, details.encounter_id as string, id)
    : recordPath(workspace, kind, id);
}

function detailsText(details: Found['details']): Html {
  return html`${Object.entries(details).map(
    ([field, value], at) =>
      html`${at > 0 && html`<br>`}<span class="muted">${fieldLabel(field)}</span> ${value}`,
  )}`;
}

function nextPage(workspace: string, { number }: RememberedSearch, token: string): Html {
  const address = `/dashboard${searchPath(workspace, number)}&page_token=${encodeURIComponent(token)}`;
  return html`<p><a href="${address}" rel="next">Next page</a></p>`;
}

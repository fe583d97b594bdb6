import type { Request } from 'express';
import { validate as isUuid } from 'uuid';
import { z } from 'zod';
import type { RefusedRequest } from '../../../projections/auditTrail.ts';
import { refusedRequestView } from '../../api/routes/requests.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import { validate } from '../../domain/records/schema/validation.ts';
import { messageListAccess, searchAccess } from '../../modules/audit/accesses.ts';
import { type AccessRecorded, recordAccess } from '../../modules/audit/recordAccess.ts';
import { findRefusedRequest } from '../../modules/audit/requestLog.ts';
import { scopeKinds } from '../../modules/auth/apiKeys.ts';
import type { Message } from '../../modules/integrations/messages/message.ts';
import type { MessageStore } from '../../modules/integrations/messages/store.ts';
import type { RecordNames } from '../../modules/records/queries/lists.ts';
import type { QueryPorts } from '../../modules/records/queries/records.ts';
import {
  type Found,
  type FoundErased,
  findErased,
  searchRecords,
  searchTextSchema,
  tidied,
} from '../../modules/records/queries/search.ts';
import { messageOf, searchForm } from '../components/forms.ts';
import { searchPath } from '../components/layout.ts';
import {
  type DashboardRoute,
  type Html,
  html,
  phiReaders,
  problemOf,
  type Reply,
  recordReaders,
  requestReaders,
  textOf,
  type Visit,
} from '../components/page.ts';
import { pageLinks } from '../components/paging.ts';
import { recordsSection, textsOf, unlessBehind } from '../components/recordTable.ts';
import { table } from '../components/tables.ts';
import { badge, bdi, code, day, empty, fieldLabel, time, tryAgain } from '../components/text.ts';
import { documentsPath, recordPath, requestPath } from '../components/urls.ts';
import { messageTable } from './messages.ts';
import { readNames } from './records/shared.ts';
import { reason } from './requests.ts';

interface SearchPorts extends QueryPorts {
  messages: MessageStore;
}

/**
 * Resolves with the refused request whose full id was entered in the general search, and the access to be recorded
 * before it is shown. Rejects with `unavailable`.
 */
async function refusedRequestOf(
  ports: QueryPorts,
  workspace: string,
  { text, kind }: Pick<RecentSearch, 'text' | 'kind'>,
): Promise<{ entry: RefusedRequest; access: AccessRecorded } | undefined> {
  if (kind !== undefined || !isUuid(text)) return undefined;
  const entry = await findRefusedRequest(ports, workspace, text.toLowerCase());
  return entry && { entry, access: { action: 'audit.read', query: { request_id: text.toLowerCase() } } };
}

/** Returns the line of results that leads to it. */
function requestResult(workspace: string, entry: RefusedRequest): Html {
  const { id, method, route } = refusedRequestView(entry);
  return html`<p>Refused request <a href="/dashboard${requestPath(workspace, id)}">${method} ${route}</a>: ${reason(entry)}, ${time(entry.recordedAt)}</p>`;
}

/** Messages with a control id that a search shows. */
const MOST_MESSAGES = 10;

/** Resolves with the messages whose full control id was entered in the general search. Rejects with `unavailable`. */
async function messagesOf(
  { messages }: SearchPorts,
  workspace: string,
  { text, kind }: Pick<RecentSearch, 'text' | 'kind'>,
): Promise<Message[]> {
  return kind === undefined ? messages.withControlId(workspace, text, MOST_MESSAGES) : [];
}

/** Searches that a session remembers, so that Back leads to each of them. */
const MAX_SAVED = 20;

/** What somebody searched for. */
interface RecentSearch {
  /** The number by which its address names it. */
  number: number;
  workspace: string;
  text: string;
  /** Only among these. */
  kind?: string;
}

declare module 'express-session' {
  interface SessionData {
    /** The latest searches, kept in the session as no name may be in an address. */
    searches?: RecentSearch[];
  }
}

/** Remembers a search; returns its number. */
function saveSearch({ session }: Request, search: Omit<RecentSearch, 'number'>): number {
  const earlier = session.searches ?? [];
  const number = (earlier.at(-1)?.number ?? 0) + 1;
  session.searches = [...earlier, { number, ...search }].slice(-MAX_SAVED);
  return number;
}

/** Returns the search with that number in a workspace; undefined when it is no longer remembered. */
function recentSearch(
  { session }: Request,
  workspace: string,
  number: string | undefined,
): RecentSearch | undefined {
  return session.searches?.find((one) => one.workspace === workspace && String(one.number) === number);
}

const PAGE = 25;
const path = '/workspaces/:workspace/search';
const formSchema = z.object({ q: searchTextSchema, kind: z.enum(scopeKinds).optional() });

/** `…/search`: records and documents by what people know about them. */
export function searchRoutes(ports: SearchPorts): DashboardRoute[] {
  return [
    {
      method: 'get',
      path,
      roles: recordReaders,
      query: ['n', 'page_token'],
      handle: (visit) => show(ports, visit),
    },
    { method: 'post', path, roles: recordReaders, isOnEveryPage: true, handle: saveSearchedTerms },
  ];
}

/** Takes what was typed; the address that follows has only a number for it. */
async function saveSearchedTerms(visit: Visit): Promise<Reply> {
  const { req, workspace, form } = visit;
  const kind = textOf(form, 'kind');
  const typed = { q: textOf(form, 'q'), ...(kind !== '' && { kind }) };
  if (typed.q === '') return { redirect: searchPath(workspace) };
  try {
    const { q, ...narrowed } = validate(formSchema, typed);
    const number = saveSearch(req, {
      workspace,
      text: tidied(q),
      ...(narrowed.kind && { kind: narrowed.kind }),
    });
    return { redirect: searchPath(workspace, number) };
  } catch (error) {
    const { status, details } = problemOf(error);
    const problem = messageOf(details, 'q') ?? messageOf(details, 'kind');
    return searchPage(searchForm(visit, typed.q, kind, problem && `This ${problem}.`), status);
  }
}

async function show(ports: SearchPorts, visit: Visit): Promise<Reply> {
  const { req, workspace, caller, may } = visit;
  const { n, page_token: pageToken } = textsOf(req);
  const asked = recentSearch(req, workspace, n);
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
    isFurther || !may(requestReaders) ? [] : messagesOf(ports, workspace, asked),
    isFurther ? [] : findErased(ports, workspace, text, request.kinds),
  ]);
  const [found, refused, messages = [], erased = []] = (await unlessBehind(reading)) ?? [];
  if (found === undefined) {
    return searchPage(html`${searchForm(visit, text, kind)}${tryAgain(req.originalUrl)}`, 503);
  }
  const listed = messageListAccess({ for: 'control id' }, messages, may(phiReaders));
  const named = await readNames(ports, workspace, found.items.flatMap(namedIn));
  const accesses = [
    ...(refused ? [refused.access] : []),
    ...(messages.length > 0 ? [listed] : []),
    ...named.accesses,
  ];
  const isOther = refused !== undefined || messages.length > 0 || erased.length > 0;
  await recordAccess(ports.eventLog, caller, searchAccess(request, kind, found.items), ...accesses);
  return searchPage(html`${searchForm(visit, text, kind)}
${refused && requestResult(workspace, refused.entry)}
${messages.length > 0 && html`<h2>Messages</h2>${messageTable(workspace, messages, may(phiReaders))}`}
${erased.length > 0 && erasedResults(workspace, erased)}
${(found.items.length > 0 || !isOther) && results(workspace, asked, found.items, isFurther, named.names)}
${pageLinks(req, { token: found.next_page_token, by: 'list' })}`);
}

function searchPage(body: Html, status = 200): Reply {
  const page = html`<h1>Search</h1>
${body}`;
  return { page: { title: 'Search', section: recordsSection, status, body: page } };
}

function results(
  workspace: string,
  { text }: RecentSearch,
  items: readonly Found[],
  isFurther: boolean,
  names: RecordNames | undefined,
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
        cell: (found) =>
          html`<a href="/dashboard${pathOf(workspace, found)}">${bdi(titleOf(found, names))}</a>`,
      },
      {
        title: 'Kind',
        cell: ({ kind, removed }) =>
          html`${fieldLabel(kind)}${removed && html` ${badge('removed', 'neutral')}`}`,
      },
      { title: 'ID', cell: ({ id }) => code(id) },
      { title: 'Details', cell: ({ details }) => detailsText(details, names) },
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

/** Returns what a result is called: an encounter by its patient and day. */
function titleOf({ kind, id, title }: Found, names: RecordNames | undefined): string {
  const name = kind === encounter.kind ? names?.nameOf(kind, id) : undefined;
  return name === undefined ? title : `Encounter of ${name}`;
}

/** What the fields of a result refer to, by the last part of their names. */
const referred = ['patient', 'payer', 'provider', 'facility', 'encounter'].map(
  (kind) => [`${kind}_id`, kind] as const,
);

function referredKind(field: string): string | undefined {
  return referred.find(([name]) => field.endsWith(name))?.[1];
}

function namedIn({ kind, id, details }: Found): { kind: string; id: string }[] {
  const others = Object.entries(details).flatMap(([field, value]) => {
    const of = referredKind(field);
    return of === undefined ? [] : [{ kind: of, id: value }];
  });
  return kind === encounter.kind ? [{ kind, id }, ...others] : others;
}

function detailsText(details: Found['details'], names: RecordNames | undefined): Html {
  return html`${Object.entries(details).map(([field, value], at) => {
    const kind = referredKind(field);
    const name = kind && names?.nameOf(kind, value);
    return html`${at > 0 && html`<br>`}<span class="muted">${fieldLabel(field)}</span> ${name && html`${bdi(name)}, `}${detail(value)}`;
  })}`;
}

function detail(value: string): Html {
  return /^\d{4}-\d\d-\d\d/.test(value) ? day(value) : bdi(value);
}

/** Returns the erased records that have the id. */
function erasedResults(workspace: string, erased: readonly FoundErased[]): Html {
  return html`${erased.map(
    ({ kind, id, erased_at }) =>
      html`<p>${badge('erased', 'bad')} <a href="/dashboard${recordPath(workspace, kind, id)}">${fieldLabel(kind)} ${bdi(id)}</a> was erased on ${time(erased_at)}.</p>`,
  )}`;
}

import { validate as isUuid } from 'uuid';
import { z } from 'zod';
import type { RefusedRequest } from '../../../projections/auditTrail.ts';
import { refusedRequestView } from '../../api/routes/requests.ts';
import { catalogEntry } from '../../domain/records/catalog.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import { validate } from '../../domain/records/schema/validation.ts';
import { LEAST_END, wordsOf } from '../../domain/records/searchIndex.ts';
import { messageListAccess, searchAccess } from '../../modules/audit/accesses.ts';
import { type AccessRecorded, recordAccess } from '../../modules/audit/recordAccess.ts';
import { findRefusedRequest } from '../../modules/audit/requestLog.ts';
import { scopeKinds } from '../../modules/auth/permissions.ts';
import type { MessageStore } from '../../modules/integrations/messages/store.ts';
import type { RecordNames } from '../../modules/records/queries/lists.ts';
import type { QueryPorts } from '../../modules/records/queries/records.ts';
import {
  type Found,
  type FoundErased,
  findErased,
  matches,
  searchRecords,
  searchTextSchema,
  tidied,
} from '../../modules/records/queries/search.ts';
import { searchForm } from '../components/forms.ts';
import { fieldLabel } from '../components/labels.ts';
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
import {
  pluralTitle,
  recordsSection,
  soughtKinds,
  textsOf,
  unlessBehind,
} from '../components/recordTable.ts';
import { type TableColumn, table } from '../components/tables.ts';
import { badge, bdi, day, empty, time, tryAgain } from '../components/text.ts';
import { documentsPath, recordPath, requestPath } from '../components/urls.ts';
import { type RecentSearch, recentSearch, saveSearch } from '../http/searches.ts';
import { messageTable, patientsNamed } from './messages.ts';
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
  text: string,
): Promise<{ entry: RefusedRequest; access: AccessRecorded } | undefined> {
  if (!isUuid(text)) return undefined;
  const entry = await findRefusedRequest(ports, workspace, text.toLowerCase());
  return entry && { entry, access: { action: 'audit.read', query: { request_id: text.toLowerCase() } } };
}

/** Returns the line of results that leads to it. */
function requestResult(workspace: string, entry: RefusedRequest): Html {
  const { id, method, route } = refusedRequestView(entry);
  return html`<p><a href="/dashboard${requestPath(workspace, id)}">${method} ${route}</a>: ${reason(entry)}, ${time(entry.recordedAt)}</p>`;
}

/** Messages with a control id that a search shows. */
const MOST_MESSAGES = 10;

/** What is searched, in the order in which it is shown. */
const kinds = [...soughtKinds.map(({ kind }) => kind), 'document'];

const PAGE = 25;
/** Of each kind, where all of them are searched. */
const MOST_OF_A_KIND = 5;
const path = '/workspaces/:workspace/search';
const formSchema = z.object({ q: searchTextSchema });
const querySchema = z.object({ kind: z.enum(scopeKinds).optional() });

/** `…/search`: records and documents by what people know about them. */
export function searchRoutes(ports: SearchPorts): DashboardRoute[] {
  return [
    {
      method: 'get',
      path,
      roles: recordReaders,
      query: ['n', 'kind', 'page_token', 'earlier'],
      handle: (visit) => show(ports, visit),
    },
    { method: 'post', path, roles: recordReaders, isOnEveryPage: true, handle: saveSearchedTerms },
  ];
}

/** Takes what was typed; the address that follows has only a number for it. */
async function saveSearchedTerms(visit: Visit): Promise<Reply> {
  const { req, workspace, form } = visit;
  const typed = textOf(form, 'q');
  if (typed === '') return { redirect: searchPath(workspace) };
  try {
    const { q } = validate(formSchema, { q: typed });
    return { redirect: searchPath(workspace, saveSearch(req, { workspace, text: tidied(q) })) };
  } catch (error) {
    const refusal = problemOf(error);
    return searchPage(searchForm(visit, typed, refusal), refusal.status);
  }
}

/** What was found of a kind. */
interface Group {
  kind: string;
  items: Found[];
  next_page_token: string | null;
}

/** Resolves with what is found of the kind asked for, or of each kind, the best match first. Rejects with `unavailable`. */
async function searchKinds(
  ports: QueryPorts,
  { workspace, text }: RecentSearch,
  kind: string | undefined,
  pageToken: string | undefined,
): Promise<Group[]> {
  const of = async (one: string, limit: number): Promise<Group> => ({
    kind: one,
    ...(await searchRecords(ports, workspace, { text, kinds: [one], limit, pageToken })),
  });
  if (kind !== undefined) return [await of(kind, PAGE)];
  const groups = await Promise.all(kinds.map((one) => of(one, MOST_OF_A_KIND)));
  const rank = ({ items }: Group) => (items[0] ? matches.indexOf(items[0].matched) : matches.length);
  return groups.toSorted((one, other) => rank(one) - rank(other));
}

async function show(ports: SearchPorts, visit: Visit): Promise<Reply> {
  const { req, workspace, caller, may } = visit;
  const { n, page_token: pageToken, kind: sent } = textsOf(req);
  const { kind } = validate(querySchema, { kind: sent });
  const asked = recentSearch(req, workspace, n);
  if (asked === undefined) {
    return searchPage(html`${searchForm(visit)}
${n !== undefined && empty('This search is no longer available. Enter it again.')}`);
  }
  const { text } = asked;
  const isWhole = kind === undefined;
  const mayRequests = isWhole && may(requestReaders);
  const reading = Promise.all([
    searchKinds(ports, asked, kind, pageToken),
    mayRequests ? refusedRequestOf(ports, workspace, text) : undefined,
    mayRequests ? ports.messages.withControlId(workspace, text, MOST_MESSAGES) : [],
    isWhole ? findErased(ports, workspace, text, scopeKinds) : [],
  ]);
  const [groups, refused, messages = [], erased = []] = (await unlessBehind(reading)) ?? [];
  if (groups === undefined)
    return searchPage(html`${searchForm(visit, text)}${tryAgain(req.originalUrl)}`, 503);
  const items = groups.flatMap((group) => group.items);
  const listed = messageListAccess({ for: 'control id' }, messages, may(phiReaders));
  const named = await readNames(ports, workspace, [
    ...items.flatMap(namedIn),
    ...(may(phiReaders) ? patientsNamed(messages) : []),
  ]);
  const accesses = [
    ...(refused ? [refused.access] : []),
    ...(messages.length > 0 ? [listed] : []),
    ...named.accesses,
  ];
  const request = { text, kinds: scopeKinds, limit: isWhole ? MOST_OF_A_KIND : PAGE, pageToken };
  await recordAccess(ports.eventLog, caller, searchAccess(request, kind, items), ...accesses);
  const isNothing = items.length + messages.length + erased.length === 0 && refused === undefined;
  return searchPage(html`${searchForm(visit, text)}
${kindLinks(asked, kind)}
<div data-arrow-keys>
${refused && html`<h2>Refused request</h2>${requestResult(workspace, refused.entry)}`}
${messages.length > 0 && html`<h2>Messages</h2>${messageTable(workspace, messages, may(phiReaders) ? named : undefined)}`}
${erased.length > 0 && html`<h2>Erased</h2>${erasedResults(workspace, erased)}`}
${groups.map((group) => results(asked, group, isWhole, named.names))}
</div>
${isNothing && (pageToken === undefined ? nothing(asked, kind) : empty('No more results.'))}
${!isWhole && pageLinks(req, { token: groups[0]?.next_page_token ?? null, by: 'list' })}`);
}

function searchPage(body: Html, status = 200): Reply {
  const page = html`<h1>Search</h1>
${body}`;
  return { page: { title: 'Search', section: recordsSection, status, body: page } };
}

const pluralOf = (kind: string) => (kind === 'document' ? 'Documents' : pluralTitle(catalogEntry(kind)));

/** Returns the links that narrow a search to a kind. */
function kindLinks({ workspace, number }: RecentSearch, current: string | undefined): Html {
  const link = (kind: string | undefined, text: string) =>
    html`<a href="/dashboard${searchPath(workspace, number, kind)}"${kind === current && html` aria-current="page"`}>${text}</a> `;
  return html`<nav aria-label="Kinds"><p class="line">${link(undefined, 'All')}${kinds.map((kind) => link(kind, pluralOf(kind)))}</p></nav>`;
}

/** Returns what may be done where nothing is found. */
function nothing({ workspace, number, text }: RecentSearch, kind: string | undefined): Html {
  return html`<div class="empty"><p>Nothing matches all of <mark>${bdi(text)}</mark>${kind !== undefined && ` among ${pluralOf(kind).toLowerCase()}`}.</p>
<ul>
${kind !== undefined && html`<li><a href="/dashboard${searchPath(workspace, number)}">Search all kinds</a></li>`}
<li>Try fewer words, or only the beginning of a word.</li>
<li>Write a day as 1984-02-29 or 02/29/1984, or only its year.</li>
<li>Of an ID with digits, the last ${LEAST_END} characters are enough.</li>
<li>Requests, messages and erased records are found by their whole ID.</li>
</ul></div>`;
}

/** Columns for the fields that distinguish results of one kind. */
const MOST_COLUMNS = 2;

/** Returns what was found of a kind; `isPart`: there may be more, on a page of its own. */
function results(
  asked: RecentSearch,
  group: Group,
  isPart: boolean,
  names: RecordNames | undefined,
): Html | undefined {
  const { kind, items, next_page_token: next } = group;
  const plural = pluralOf(kind);
  const more =
    isPart &&
    next !== null &&
    html`<a href="/dashboard${searchPath(asked.workspace, asked.number, kind)}">All ${plural.toLowerCase()} that match</a>`;
  if (items.length === 0 && !more) return undefined;
  return html`<div class="page-head"><h2>${plural}</h2>${more}</div>
${items.length > 0 && html`<div class="dense">${table(plural, resultColumns(asked, group, names), items)}</div>`}`;
}

/** A word of a text, with accents and apostrophes. */
const textWord = /([\p{L}\p{M}\p{N}'’]+)/u;

/** Returns a text in which the words that begin or end with one of those searched for are marked. */
function marked(text: string, words: readonly string[]): Html {
  const isSought = (part: string) =>
    wordsOf(part).some((one) =>
      words.some((word) => one.startsWith(word) || (word.length >= LEAST_END && one.endsWith(word))),
    );
  return html`<bdi>${text.split(textWord).map((part) => (isSought(part) ? html`<mark>${part}</mark>` : part))}</bdi>`;
}

function resultColumns(
  { workspace, text }: RecentSearch,
  { kind, items }: Group,
  names: RecordNames | undefined,
): TableColumn<Found>[] {
  const words = wordsOf(text);
  const fields = [...new Set(items.flatMap(({ details }) => Object.keys(details)))]
    // The name of an encounter has its patient, and an insurance is of little help.
    .filter((field) => !field.includes('.') && !(kind === encounter.kind && field === 'patient_id'))
    .slice(0, MOST_COLUMNS);
  const value = (field: string, sent: string, isFound: boolean) => {
    const referred = referredKind(field);
    const name = referred && names?.nameOf(referred, sent);
    const shown = name === undefined ? detail(sent) : bdi(name);
    return isFound ? html`<mark>${shown}</mark>` : shown;
  };
  const others = ({ foundBy }: Found) => Object.entries(foundBy).filter(([field]) => !fields.includes(field));
  return [
    {
      title: 'Name',
      ...{ isHeader: true, isCut: true },
      cell: (found) =>
        html`<a href="/dashboard${pathOf(workspace, found)}">${marked(titleOf(found, names), words)}</a>${found.removed && html` ${badge('removed', 'neutral')}`}`,
    },
    { title: 'ID', isCut: true, cell: ({ id }) => html`<span title="${id}">${marked(id, words)}</span>` },
    ...fields.map((field) => ({
      title: fieldLabel(field.replace(/_id$/, '')),
      cell: ({ details, foundBy }: Found) => {
        const sent = details[field];
        return sent && value(field, sent, Object.hasOwn(foundBy, field));
      },
    })),
    ...(items.some((found) => others(found).length > 0)
      ? [
          {
            title: 'Also matches',
            cell: (found: Found) =>
              others(found).map(
                ([field, sent], at) =>
                  html`${at > 0 && ', '}<span class="muted">${fieldLabel(field)}</span> ${value(field, sent, true)}`,
              ),
          },
        ]
      : []),
    { title: 'Last change', cell: ({ updated_at }) => time(updated_at) },
  ];
}

function pathOf(workspace: string, { kind, id, details }: Found): string {
  return kind === 'document'
    ? documentsPath(workspace, details.encounter_id as string, id)
    : recordPath(workspace, kind, id);
}

/** Returns what a result is called: an encounter by its patient and day. */
function titleOf({ kind, id, title }: Found, names: RecordNames | undefined): string {
  const name = kind === encounter.kind ? names?.nameOf(kind, id) : undefined;
  return name ?? title;
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

function detail(value: string): Html {
  return /^\d{4}-\d\d-\d\d/.test(value) ? day(value) : bdi(value);
}

/** Returns the erased records that have the id. */
function erasedResults(workspace: string, erased: readonly FoundErased[]): Html {
  return table(
    'Erased',
    [
      {
        title: 'ID',
        isHeader: true,
        cell: ({ kind, id }) =>
          html`<a href="/dashboard${recordPath(workspace, kind, id)}">${fieldLabel(kind)} ${bdi(id)}</a>`,
      },
      { title: 'State', cell: () => badge('erased', 'bad') },
      { title: 'Erased', cell: ({ erased_at }) => time(erased_at) },
    ],
    erased,
  );
}

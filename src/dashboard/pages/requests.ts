import { z } from 'zod';
import type { AuditEntry } from '../../../projections/auditAggregation.ts';
import { isRefusedRequest, type RefusedRequest } from '../../../projections/auditTrail.ts';
import { openapiDocument } from '../../api/routes/index.ts';
import {
  type RefusedRequestView,
  refusedRequestView,
  requestFilter,
  requestFilterSchema,
} from '../../api/routes/requests.ts';
import { statusOf } from '../../api/server/answer.ts';
import { isProgram } from '../../domain/events/event.ts';
import { validate } from '../../domain/records/schema/validation.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { countRefusedRequests, findRefusedRequest, readRequestLog } from '../../modules/audit/requestLog.ts';
import { readAuditTrail } from '../../modules/audit/trail.ts';
import type { KeyDirectory } from '../../modules/auth/keyDirectory.ts';
import { ALL_WORKSPACES } from '../../modules/auth/users.ts';
import { outcomeOf } from '../../modules/integrity/export.ts';
import type { Page as ListPage } from '../../modules/records/queries/paging.ts';
import type { PrincipalNames } from '../../modules/records/queries/principalNames.ts';
import type { QueryPorts } from '../../modules/records/queries/records.ts';
import { errorMeanings } from '../../platform/errors.ts';
import { total } from '../components/charts.ts';
import { filterForm, input, messageOf, select } from '../components/forms.ts';
import { titleOf, wordsOf } from '../components/labels.ts';
import {
  type DashboardRoute,
  type Html,
  html,
  type Page,
  phiReaders,
  problemOf,
  type Refusal,
  type Reply,
  requestReaders,
  type Visit,
} from '../components/page.ts';
import { pageLinks } from '../components/paging.ts';
import { filledQuery, textsOf } from '../components/recordTable.ts';
import { type TableColumn, table } from '../components/tables.ts';
import { badge, code, empty, idBeside, time } from '../components/text.ts';
import { momentInputs, shownMoment, sinceLinks, zoneParameter } from '../components/time.ts';
import { requestPath, requestsPath, requestsSection } from '../components/urls.ts';
import { actionText, auditSubject, recordsIn, type SubjectNames } from './auditTable.ts';
import { readNames } from './records/shared.ts';
import { inline, type OpenApiDocument } from './reference/outline.ts';
import { faultField, faultsIn, faultText } from './requestSample.ts';

/** Refused requests that are alike: by the same key or source, to the same route, and refused for the same reason. */
interface RequestGroup {
  newest: RefusedRequest;
  others: readonly RefusedRequest[];
}

function groupsOf(entries: readonly RefusedRequest[]): RequestGroup[] {
  const alike = Map.groupBy(entries, (entry) => {
    const { method, route, status, code: why, fields, faults } = refusedRequestView(entry);
    const codes = faults.map(({ field, code: fault }) => [field, fault]);
    return JSON.stringify([entry.principal, method, route, status, why, fields, codes]);
  });
  return [...alike.values()].map(([newest, ...others]) => ({ newest: newest as RefusedRequest, others }));
}

/** Returns the columns of the list of refused requests. */
function requestColumns(
  names: PrincipalNames,
  workspace: string,
  document: OpenApiDocument,
): TableColumn<RequestGroup>[] {
  return [
    {
      title: 'Last time',
      cell: ({ newest }) => html`<span class="nowrap">${time(newest.recordedAt)}</span>`,
    },
    {
      title: 'Request',
      ...{ isHeader: true, isCut: true },
      cell: ({ newest, others }) => {
        const { id, method, route } = refusedRequestView(newest);
        const count = others.length + 1;
        return html`${count > 1 && html`<span class="nowrap">${count.toLocaleString('en-US')} ×</span> `}<a href="/dashboard${requestPath(workspace, id)}">${method} ${route}</a>`;
      },
    },
    { title: 'Reason', isCut: true, cell: ({ newest }) => reason(newest) },
    { title: 'What is wrong', isCut: true, cell: ({ newest }) => faultList(newest, document) },
    { title: 'API key or source', isCut: true, cell: ({ newest }) => keyLink(newest, names, workspace) },
    { title: 'Request ID', isCut: true, cell: (group) => requestIds(workspace, group) },
  ];
}

function requestIds(workspace: string, { newest, others }: RequestGroup): Html {
  const id = ({ requestId, eventId }: RefusedRequest) => idBeside(requestId ?? eventId);
  if (others.length === 0) return id(newest);
  return html`<details class="entry"><summary>${others.length + 1} requests</summary>${id(newest)}
<ul class="plain">${others.map((one) => html`<li><a href="/dashboard${requestPath(workspace, one.requestId ?? one.eventId)}">${time(one.recordedAt)}</a></li>`)}</ul></details>`;
}

/** Whether a request brought messages in FHIR or HL7 v2, which are kept as they arrived. */
export function isMessage({ method, route }: Pick<RefusedRequestView, 'method' | 'route'>): boolean {
  return method === 'MLLP' || /^\/(?:fhir|hl7)\b/.test(route);
}

/** Returns status and reason; for a batch, how many of its lines were refused. */
export function reason(entry: RefusedRequest): Html {
  const { status, code: why, lines, method, route } = refusedRequestView(entry);
  const refused = Object.values(lines?.refused ?? {}).reduce((sum, count) => sum + count, 0);
  return html`${badge(String(status), 'bad')} ${titleOf(why)}${
    lines &&
    lines.sent > 1 &&
    html` <small class="muted">${refused} of ${lines.sent} ${isMessage({ method, route }) ? 'messages' : 'lines'}</small>`
  }`;
}

/** Faults of a request that its line in the list names, besides the first. */
const MOST_FAULTS = 3;

/** Returns why a request was refused whose fields are not at fault. */
function plainReason({ code: why, kind }: Pick<RefusedRequestView, 'code' | 'kind'>): string {
  if (why === 'not_found' && kind !== null) return `No ${wordsOf(kind)} has this ID.`;
  return `${errorMeanings[why].split(/[.;:](?: |$)/)[0]}.`;
}

function faultList(entry: RefusedRequest, document: OpenApiDocument): Html {
  const view = refusedRequestView(entry);
  const faults = faultsIn(view);
  const lines =
    faults.length > 0
      ? faults.map(
          ({ fault, kind }) =>
            html`${faultField(fault.field)} ${faultText(fault, { ...view, kind }, document)}`,
        )
      : view.fields.map(faultField);
  const [first, ...others] = lines;
  if (first === undefined)
    return html`<span title="${plainReason(view)}">${inline(plainReason(view))}</span>`;
  if (others.length === 0) return first;
  const more = others.length - MOST_FAULTS;
  return html`<details class="entry"><summary><span>${first} <small class="muted">and ${others.length} more</small></span></summary>${others.slice(0, MOST_FAULTS).map((line) => html`<div>${line}</div>`)}${more > 0 && html`<small class="muted">and ${more} more on its page</small>`}</details>`;
}

/** Returns a link to everything that the key or source was refused. */
function keyLink({ principal }: AuditEntry, names: PrincipalNames, workspace: string): Html {
  const path = requestsPath(workspace, { key: principal.id });
  const name = names.nameOf(principal) ?? principal.id;
  return html`<a dir="auto" href="/dashboard${path}" title="${name}">${name}</a>`;
}

interface Option {
  value: string;
  text: string;
}

/** Of the errors, those with which requests are refused: the service's own failures are not kept. */
const refusals = Object.entries(statusOf).filter(([, status]) => status < 500);
const reasons = refusals.map(([code]) => ({ value: code, text: titleOf(code) }));
/** With that of batches of which lines were refused. */
const statuses = [...new Set(['200', ...refusals.map(([, status]) => String(status))])]
  .toSorted()
  .map((status) => ({ value: status, text: status }));

/** Returns the form that filters the list of refused requests. `keys` are those of the workspace. */
function requestForm(
  path: string,
  sent: Record<string, string>,
  keys: readonly Option[],
  refusal?: Refusal,
): Html {
  const choice = (name: string, label: string, anyText: string, options: readonly Option[]) => {
    const value = sent[name] ?? '';
    const isListed = value === '' || options.some((option) => option.value === value);
    const listed = isListed ? options : [{ value, text: value }, ...options];
    const error = messageOf(refusal?.details, name);
    return select({ name, label, value, options: [{ value: '', text: anyText }, ...listed], error });
  };
  const moment = (name: string, label: string) => ({
    ...{ name, label, step: 1, value: shownMoment(sent[name]), error: messageOf(refusal?.details, name) },
  });
  const line = (name: string, label: string, hint: string) =>
    input({
      name,
      label,
      hint,
      type: 'search',
      value: sent[name],
      error: messageOf(refusal?.details, name),
    });
  return html`${sinceLinks(path, sent)}
${filterForm({
  path: path,
  limits: sent,
  refusal,
  fields: html`${select({
    name: 'outcome',
    label: 'Outcome',
    value: sent.outcome ?? '',
    options: [
      { value: '', text: 'Refused' },
      { value: 'all', text: 'All' },
    ],
  })}
${line('request_id', 'Request ID', 'Opens that refused request.')}
${choice('code', 'Reason', 'Any reason', reasons)}
${choice('status', 'Status', 'Any status', statuses)}
${choice('key', 'API key', 'Any key', keys)}
${line('field', 'Field at fault', 'Such as last_name')}
${momentInputs(moment('from', 'From'), moment('to', 'Before'))}`,
})}`;
}

export interface RequestPagePorts extends QueryPorts {
  directory: KeyDirectory;
  names: PrincipalNames;
  openapiPublic: boolean;
  publicUrl: string | undefined;
}

const REQUESTS_A_PAGE = 200;

/** A parameter that was sent twice counts as not sent. */
const value = z.string().optional().catch(undefined);
const querySchema = requestFilterSchema.extend({
  key: value,
  request_id: value,
  outcome: z.literal('all').optional().catch(undefined),
  page_token: value,
});

/** `…/requests`: the requests of each workspace's keys and sources; by default those refused. */
export function requestsRoutes(ports: RequestPagePorts): DashboardRoute[] {
  const path = '/workspaces/:workspace/requests';
  return [
    {
      method: 'get',
      path,
      roles: requestReaders,
      query: [...Object.keys(querySchema.shape), zoneParameter],
      handle: (visit) => listReply(ports, visit),
    },
  ];
}

async function listReply(ports: RequestPagePorts, visit: Visit): Promise<Reply> {
  const { workspace, caller, req } = visit;
  const filled = filledQuery(req);
  const { page_token: _token, ...sent } = textsOf({ query: filled });
  let query: z.output<typeof querySchema>;
  try {
    query = validate(querySchema, filled);
  } catch (error) {
    return { page: framed(ports, visit, sent, html``, problemOf(error)) };
  }
  const { key, request_id: requestId, page_token: pageToken, outcome, ...asked } = query;
  if (requestId !== undefined) return findRequest(ports, visit, requestId.trim());
  if (outcome === 'all') return listAll(ports, visit, sent, query);
  const filter = { ...requestFilter(asked), ...(key !== undefined && { keys: [key] }) };
  const found = await readRequestLog(ports, workspace, filter, { limit: REQUESTS_A_PAGE, pageToken });
  await ports.names.learn(found.items.map(({ principal }) => principal));
  await recordAccess(ports.eventLog, caller, {
    action: 'audit.read',
    query: { ...sent, outcome: 'refused' },
  });
  const document = openapiDocument(ports.openapiPublic) as OpenApiDocument;
  const columns = requestColumns(ports.names, workspace, document);
  const counted = await countRefusedRequests(ports, workspace, filter);
  const body = html`${found.items.length > 0 && total(counted, 'refused request', 'refused requests')}
${pageToken === undefined && faultMatrix(ports.names, workspace, sent, found.items)}
${found.items.length > 0 && html`<div class="requests flowing">${table('Refused requests, newest first', columns, groupsOf(found.items))}</div>`}
${older(visit, sent, found)}`;
  return { page: framed(ports, visit, sent, body) };
}

/** Fields that have a column of their own. */
const MOST_COLUMNS = 6;

/** Returns how many of the refused requests had a fault in a field, by key or source; nothing where that is only one pair. */
function faultMatrix(
  names: PrincipalNames,
  workspace: string,
  sent: Record<string, string>,
  items: readonly RefusedRequest[],
): Html | undefined {
  const pairs = items.flatMap((entry) =>
    refusedRequestView(entry).fields.map((field) => ({ field, principal: entry.principal })),
  );
  const byCount = ([, one]: [string, unknown[]], [, other]: [string, unknown[]]) => other.length - one.length;
  const fields = [...Map.groupBy(pairs, ({ field }) => field)].sort(byCount).slice(0, MOST_COLUMNS);
  const senders = [...Map.groupBy(pairs, ({ principal }) => principal.id)].sort(byCount);
  if (fields.length * senders.length <= 1) return undefined;
  const countOf = (own: typeof pairs, field: string) => own.filter((one) => one.field === field).length;
  return html`<details class="figures"><summary>By key and field</summary>
${table<(typeof senders)[number]>(
  `Refused requests by key and field, of the newest ${items.length.toLocaleString('en-US')}`,
  [
    {
      title: 'API key or source',
      isHeader: true,
      cell: ([id, own]) => names.nameOf((own[0] as (typeof pairs)[number]).principal) ?? id,
    },
    ...fields.map(([field]) => ({
      title: field,
      cell: ([key, own]: (typeof senders)[number]) => {
        const count = countOf(own, field);
        const path = requestsPath(workspace, { ...sent, key, field });
        return count > 0 && html`<a href="/dashboard${path}">${count.toLocaleString('en-US')}</a>`;
      },
    })),
  ],
  senders,
)}
</details>`;
}

/** Everything that a request did, as the audit trail has it; newest first. */
interface AnsweredRequest {
  id: string;
  entries: readonly [AuditEntry, ...AuditEntry[]];
}

function answeredRequests(entries: readonly AuditEntry[]): AnsweredRequest[] {
  const byId = Map.groupBy(entries, ({ requestId, eventId }) => requestId ?? eventId);
  return [...byId].map(([id, own]) => ({ id, entries: own as [AuditEntry, ...AuditEntry[]] }));
}

/** Lists the requests of keys and sources of all outcomes, each once, by the time and the key asked for. */
async function listAll(
  ports: RequestPagePorts,
  visit: Visit,
  sent: Record<string, string>,
  { key, page_token: pageToken, ...asked }: z.output<typeof querySchema>,
): Promise<Reply> {
  const { workspace, caller, may } = visit;
  const { from, to } = requestFilter(asked);
  const filter = {
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    ...(key !== undefined && { principal: key }),
    isWanted: ({ principal }: AuditEntry) => isProgram(principal),
    scope: ['requests'],
  };
  const found = await readAuditTrail(ports, workspace, filter, { limit: REQUESTS_A_PAGE, pageToken });
  await ports.names.learn(found.items.map(({ principal }) => principal));
  const requests = answeredRequests(found.items);
  const mayRead = may(phiReaders);
  const about = mayRead ? recordsIn(requests.map(({ entries: [newest] }) => newest)) : [];
  const { names: records, accesses } = await readNames(ports, workspace, about);
  await recordAccess(ports.eventLog, caller, { action: 'audit.read', query: sent }, ...accesses);
  const columns = answeredColumns({ principals: ports.names, records }, workspace, mayRead);
  const body = html`${requests.length > 0 && html`<div class="requests">${table('Requests, newest first', columns, requests)}</div>`}
${older(visit, sent, found)}`;
  return { page: framed(ports, visit, sent, body) };
}

function answeredColumns(
  names: SubjectNames,
  workspace: string,
  mayRead: boolean,
): TableColumn<AnsweredRequest>[] {
  const subjectOf = ({ kind, ...entry }: AuditEntry) =>
    mayRead
      ? auditSubject({ ...entry, ...(kind !== undefined && { kind }) }, names, workspace)
      : kind && titleOf(kind);
  return [
    {
      title: 'Time',
      cell: ({ entries: [newest] }) => html`<span class="nowrap">${time(newest.recordedAt)}</span>`,
    },
    {
      title: 'What it did',
      ...{ isHeader: true, isCut: true },
      cell: ({ id, entries }) => {
        const [newest, ...others] = entries;
        const text = actionText(newest.action ?? newest.type);
        return html`${entries.some(isRefusedRequest) ? html`<a href="/dashboard${requestPath(workspace, id)}">${text}</a>` : text}${others.length > 0 && html` <small class="muted">and ${others.length.toLocaleString('en-US')} more</small>`}`;
      },
    },
    { title: 'About', isCut: true, cell: ({ entries: [newest] }) => subjectOf(newest) },
    {
      title: 'Outcome',
      isCut: true,
      cell: ({ entries }) => {
        const refused = entries.find(isRefusedRequest);
        return refused ? reason(refused) : badge(outcomeOf(entries[0]), 'good');
      },
    },
    {
      title: 'API key or source',
      isCut: true,
      cell: ({ entries: [newest] }) => keyLink(newest, names.principals, workspace),
    },
    { title: 'Request ID', isCut: true, cell: ({ id }) => idBeside(id) },
  ];
}

/** Leads to the request with an id. */
async function findRequest(ports: RequestPagePorts, visit: Visit, requestId: string): Promise<Reply> {
  const { workspace } = visit;
  if (await findRefusedRequest(ports, workspace, requestId))
    return { redirect: requestPath(workspace, requestId) };
  const sent = { request_id: requestId };
  return { page: framed(ports, visit, sent, unknownRequest(workspace, requestId)) };
}

/** Returns the page with the form, filled in with what was sent, above its body. */
function framed(
  { directory }: RequestPagePorts,
  { workspace, may }: Visit,
  sent: Record<string, string>,
  body: Html,
  refusal?: Refusal,
): Page {
  const keys = directory
    .keysOf(workspace)
    .map(({ id, name, state }) => ({ value: id, text: state === 'deleted' ? `${name} (deleted)` : name }));
  return {
    title: requestsSection,
    section: requestsSection,
    ...(refusal && { status: refusal.status }),
    body: html`<h1>Requests</h1>
<p class="muted">Requests of this workspace’s API keys and MLLP sources: those refused, with the reasons, or all. What was sent is never kept.${
      may(phiReaders, ALL_WORKSPACES) &&
      html` Requests with unknown API keys belong to no workspace: <a href="/dashboard/audit?action=key.unknown">they are counted by address</a>.`
    }</p>
${requestForm(`/dashboard${requestsPath(workspace)}`, sent, keys, refusal)}
${body}`,
  };
}

function older(
  { workspace, req }: Visit,
  sent: Record<string, string>,
  { items, next_page_token: token }: ListPage<AuditEntry>,
): Html {
  if (items.length > 0 || token !== null)
    return pageLinks(req, { token, isShort: items.length < REQUESTS_A_PAGE });
  if (req.query.page_token !== undefined)
    return html`${empty('There is nothing older.')}${pageLinks(req, { token })}`;
  if (Object.keys(sent).length > 0)
    return empty(
      html`No refused requests match. <a href="/dashboard${requestsPath(workspace)}">Show all refused requests</a>`,
    );
  return empty(
    html`No refused requests yet. The response to a refused request has a ${code('requestId')}: look it up here, or with ${code('GET /integration/requests/{id}')} and the same API key.`,
  );
}

function unknownRequest(workspace: string, requestId: string): Html {
  return empty(
    html`No refused request of this workspace has the ID ${code(requestId)}. Requests that were accepted, came without a known API key, or failed in the service are not listed here. <a href="/dashboard${requestsPath(workspace)}">Show all refused requests</a>`,
  );
}

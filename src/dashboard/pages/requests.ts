import { z } from 'zod';
import type { RefusedRequest } from '../../../projections/auditTrail.ts';
import { openapiDocument } from '../../api/routes/index.ts';
import {
  type RefusedRequestView,
  refusedRequestView,
  requestFilter,
  requestFilterSchema,
} from '../../api/routes/requests.ts';
import { addressOf, NDJSON, statusOf, UNKNOWN_FIELD } from '../../api/server/answer.ts';
import { isProgram } from '../../domain/events/event.ts';
import { validate } from '../../domain/records/schema/validation.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { countRefusedRequests, findRefusedRequest, readRequestLog } from '../../modules/audit/requestLog.ts';
import type { KeyDirectory } from '../../modules/auth/keyDirectory.ts';
import { ALL_WORKSPACES } from '../../modules/auth/users.ts';
import type { Page as ListPage } from '../../modules/records/queries/paging.ts';
import type { PrincipalNames } from '../../modules/records/queries/principalNames.ts';
import type { QueryPorts } from '../../modules/records/queries/records.ts';
import { errorMeanings, notFound } from '../../platform/errors.ts';
import { total } from '../components/charts.ts';
import { filterForm, input, messageOf, select } from '../components/forms.ts';
import { breadcrumb } from '../components/layout.ts';
import {
  type DashboardRoute,
  type Html,
  type HtmlValue,
  html,
  integrators,
  type Page,
  phiReaders,
  problemOf,
  type Refusal,
  type Reply,
  requestReaders,
  type Visit,
} from '../components/page.ts';
import { who } from '../components/people.ts';
import { definitionList } from '../components/records.ts';
import { filledQuery, textsOf } from '../components/recordTable.ts';
import { type TableColumn, table } from '../components/tables.ts';
import { badge, code, empty, time, titleOf } from '../components/text.ts';
import { momentInputs, shownMoment, sinceLinks, zoneParameter } from '../components/time.ts';
import { requestPath, requestsPath, requestsSection } from '../components/urls.ts';
import { auditSubject } from './auditTable.ts';
import {
  inline,
  type Method,
  type OpenApiDocument,
  type OperationObject,
  type ParameterObject,
} from './reference/outline.ts';
import { quoted } from './reference/samples.ts';

/** Returns the columns of the list of refused requests. */
function requestColumns(names: PrincipalNames, workspace: string): TableColumn<RefusedRequest>[] {
  return [
    { title: 'Time', cell: ({ recordedAt }) => time(recordedAt) },
    {
      title: 'Request',
      isHeader: true,
      cell: (entry) => {
        const { id, method, route } = refusedRequestView(entry);
        return html`<a href="/dashboard${requestPath(workspace, id)}">${method} ${route}</a>`;
      },
    },
    { title: 'Reason', cell: (entry) => reason(entry) },
    { title: 'Fields at fault', cell: (entry) => fieldList(entry) },
    { title: 'API key or source', cell: (entry) => keyLink(entry, names, workspace) },
    {
      title: 'Request ID',
      cell: ({ requestId, eventId }) => html`<div class="request-id">${code(requestId ?? eventId)}</div>`,
    },
  ];
}

/** Returns status and reason; for a batch, how many of its lines were refused. */
export function reason(entry: RefusedRequest): Html {
  const { status, code: why, lines } = refusedRequestView(entry);
  const refused = Object.values(lines?.refused ?? {}).reduce((sum, count) => sum + count, 0);
  return html`${badge(String(status), 'bad')} ${titleOf(why)}${
    lines && html`<br><small class="muted">${refused} of ${lines.sent} lines refused</small>`
  }`;
}

function fieldList(entry: RefusedRequest): Html {
  return html`${refusedRequestView(entry).fields.map((field, at) => html`${at > 0 && ', '}${code(field)}`)}`;
}

/** Returns a link to everything that the key or source was refused. */
function keyLink({ principal }: RefusedRequest, names: PrincipalNames, workspace: string): Html {
  const path = requestsPath(workspace, { key: principal.id });
  return html`<a href="/dashboard${path}">${names.nameOf(principal) ?? principal.id}</a>`;
}

type JsonShape = { [name: string]: string | JsonShape };

/** The members of a batch line; other fields at fault are those of its record. */
const lineMembers = ['kind', 'record', 'if_match'];

/**
 * Returns a call with curl in the shape of a refused request: its method and path, and the fields at fault, with
 * placeholders such as `<last_name>` for all values, which were not kept.
 */
export function requestCurl(
  { method, route, fields }: Pick<RefusedRequestView, 'method' | 'route' | 'fields'>,
  { paths }: OpenApiDocument,
  address: string,
): string {
  const template = route.replace(/:(\w+)/g, '{$1}');
  const asked = method === 'HEAD' ? 'get' : method.toLowerCase();
  const operation: Partial<OperationObject> = paths[template]?.[asked as Method] ?? {};
  const { parameters = [], requestBody } = operation;
  const isIn = (place: ParameterObject['in']) => (field: string) =>
    parameters.some((one) => one.in === place && one.name === field);
  const known = fields.filter((field) => field !== UNKNOWN_FIELD);
  const query = known.filter(isIn('query')).map((field) => `${field}=${placeholder(field)}`);
  const path = template.replace(/\{(\w+)\}/g, '<$1>');
  const url = `${address}${path}${query.length > 0 ? `?${query.join('&')}` : ''}`;
  const headers = [
    'x-api-key: <API_KEY>',
    ...known.filter(isIn('header')).map((name) => `${name}: ${placeholder(name)}`),
  ];
  const inBody = known.filter((field) => !parameters.some(({ name }) => name === field));
  const types = Object.keys(requestBody?.content ?? {});
  const type = types.includes(NDJSON) ? NDJSON : types[0];
  return [
    `curl ${method === 'HEAD' ? '--head' : `-X ${method}`} ${quoted(url)}`,
    ...headers.map((header) => `-H ${quoted(header)}`),
    ...(type === undefined ? [] : bodyParts(type, isUpsert(operation), inBody)),
  ].join(' \\\n  ');
}

function isUpsert({ operationId = '' }: Partial<OperationObject>): boolean {
  return operationId.startsWith('upsert');
}

function bodyParts(type: string, hasId: boolean, fields: readonly string[]): string[] {
  if (type.startsWith('multipart/'))
    return ['file=@<file>', 'document_id=<document_id>', 'category=<category>'].map(
      (part) => `-F ${quoted(part)}`,
    );
  const header = `-H ${quoted(`content-type: ${type}`)}`;
  if (type === NDJSON) {
    const ofRecord = fields.filter((field) => !lineMembers.includes(field) && !field.startsWith('record.'));
    const line = { kind: '<kind>', record: shapeOf(['id', ...ofRecord]) };
    return [header, `--data-binary ${quoted(JSON.stringify(line))}`];
  }
  const sent = hasId ? ['id', ...fields] : fields;
  const body = sent.length === 0 ? '<body>' : JSON.stringify(shapeOf(sent), null, 2);
  return [header, `-d ${quoted(body)}`];
}

/** Returns an object with these fields, dotted ones in objects of their own. */
function shapeOf(fields: readonly string[]): JsonShape {
  const shape: JsonShape = {};
  for (const field of fields) {
    const [name = '', inner] = field.split('.');
    if (inner === undefined) shape[name] ??= placeholder(name);
    else {
      const outer = shape[name];
      shape[name] = { ...(typeof outer === 'object' && outer), [inner]: placeholder(inner) };
    }
  }
  return shape;
}

function placeholder(name: string): string {
  return `<${name}>`;
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
${filterForm(
  path,
  html`${line('request_id', 'Request ID', 'Opens that request if no other filter is set.')}
${choice('code', 'Reason', 'Any reason', reasons)}
${choice('status', 'Status', 'Any status', statuses)}
${choice('key', 'API key', 'Any key', keys)}
${line('field', 'Field at fault', 'Such as primary_insurance.payer_id')}
${momentInputs(moment('from', 'From'), moment('to', 'Before'))}`,
)}`;
}

/** Returns everything known about one refused request, and how to send one of its shape. */
function requestPage(ports: RequestPagePorts, visit: Visit, entry: RefusedRequest): Page {
  const { workspace } = visit;
  const view = refusedRequestView(entry);
  const title = `${view.method} ${view.route}`;
  return {
    title,
    section: requestsSection,
    body: html`${breadcrumb([{ text: requestsSection, path: requestsPath(workspace) }])}
<h1>${title}</h1>
<p>${reason(entry)}</p>
<p>${inline(errorMeanings[view.code])}</p>
${definitionList(requestFields(ports, visit, entry, view))}
${view.lines && lineTables(workspace, view.lines)}
${entry.principal.type === 'api_key' && sample(ports, visit, view)}`,
  };
}

function requestFields(
  { names }: RequestPagePorts,
  { workspace, may }: Visit,
  entry: RefusedRequest,
  view: RefusedRequestView,
): [string, HtmlValue][] {
  const { principal } = entry;
  const isKey = principal.type === 'api_key';
  const settings = isKey && may(integrators);
  const trail = new URLSearchParams({ principal: principal.id, outcome: 'refused' }).toString();
  const pairs: [string, HtmlValue][] = [
    ['Refused', time(view.refused_at)],
    [
      'Fields at fault',
      view.fields.length === 0 ? 'None: see the reason' : fieldLinks(workspace, view.fields),
    ],
    ['About', may(phiReaders) ? auditSubject(entry, names, workspace) : ''],
    [
      isKey ? 'API key' : 'Who',
      html`${who({ ...principal, name: names.nameOf(principal) ?? null })}
${isProgram(principal) && html`<br>${link(requestsPath(workspace, { key: principal.id }), 'All its refused requests')}`}
${settings && html`<br>${link(`/workspaces/${workspace}/keys`, 'Key settings')}`}
${may(phiReaders) && html`<br>${link(`/workspaces/${workspace}/audit?${trail}`, 'Audit trail')}`}`,
    ],
    ['From', html`${view.client_ip}${view.user_agent && html`<br><small>${view.user_agent}</small>`}`],
    ['Request ID', code(view.id)],
    ['Client request ID', view.client_request_id && code(view.client_request_id)],
    ['Trace', view.traceparent && code(view.traceparent)],
  ];
  return pairs.filter(([, value]) => value !== null && value !== '');
}

function link(path: string, text: string): Html {
  return html`<a href="/dashboard${path}">${text}</a>`;
}

/** Each links to the requests that had the same field at fault. */
function fieldLinks(workspace: string, fields: readonly string[]): Html {
  const links = fields.map(
    (field) =>
      html`<div><a href="/dashboard${requestsPath(workspace, { field })}">${code(field)}</a>${
        field === UNKNOWN_FIELD && html` <span class="muted">an unknown field name, which is not kept</span>`
      }</div>`,
  );
  return html`${links}`;
}

function lineTables(workspace: string, { refused, fields }: NonNullable<RefusedRequestView['lines']>): Html {
  const counts = (title: string, name: 'code' | 'field', counted: Record<string, number>) =>
    Object.keys(counted).length > 0 &&
    table<[string, number]>(
      `Refused lines by ${title.toLowerCase()}`,
      [
        {
          title,
          isHeader: true,
          cell: ([one]) =>
            link(requestsPath(workspace, { [name]: one }), name === 'code' ? titleOf(one) : one),
        },
        { title: 'Lines', cell: ([, count]) => count },
      ],
      Object.entries(counted),
    );
  return html`<h2>Refused lines</h2>
<p>The batch was accepted except for these lines. The response named each of them.</p>
${counts('Reason', 'code', refused)}
${counts('Field', 'field', fields)}`;
}

function sample(
  { openapiPublic, publicUrl }: RequestPagePorts,
  { req }: Visit,
  view: RefusedRequestView,
): Html {
  const document = openapiDocument(openapiPublic) as OpenApiDocument;
  const text = requestCurl(view, document, addressOf(req, publicUrl));
  return html`<div class="call"><h2>Send a similar request</h2><button type="button" class="outline secondary" data-copy="request-call" aria-label="Copy the call">Copy</button></div>
<p>The request body is not kept: replace the placeholders in angle brackets with your own values.</p>
<pre id="request-call" tabindex="0"><code>${text}</code></pre>`;
}

interface RequestPagePorts extends QueryPorts {
  directory: KeyDirectory;
  names: PrincipalNames;
  openapiPublic: boolean;
  publicUrl: string | undefined;
}

const REQUESTS_A_PAGE = 50;

/** A parameter that was sent twice counts as not sent. */
const value = z.string().optional().catch(undefined);
const querySchema = requestFilterSchema.extend({ key: value, request_id: value, page_token: value });

/** The refused requests of each workspace's keys: a list, and a page for each. */
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
    {
      method: 'get',
      path: `${path}/:id`,
      roles: requestReaders,
      async handle(visit) {
        const { workspace, caller, req } = visit;
        const found = await findRefusedRequest(ports, workspace, String(req.params.id));
        if (found === undefined) throw notFound('Refused request');
        await ports.names.learn([found.principal]);
        const query = { request_id: found.requestId ?? found.eventId };
        await recordAccess(ports.eventLog, caller, { action: 'audit.read', query });
        return { page: requestPage(ports, visit, found) };
      },
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
  const { key, request_id: requestId, page_token: pageToken, ...asked } = query;
  if (requestId !== undefined) return findRequest(ports, visit, requestId.trim());
  const filter = { ...requestFilter(asked), ...(key !== undefined && { keys: [key] }) };
  const found = await readRequestLog(ports, workspace, filter, { limit: REQUESTS_A_PAGE, pageToken });
  await ports.names.learn(found.items.map(({ principal }) => principal));
  await recordAccess(ports.eventLog, caller, {
    action: 'audit.read',
    query: { ...sent, outcome: 'refused' },
  });
  const columns = requestColumns(ports.names, workspace);
  const counted = await countRefusedRequests(ports, workspace, filter);
  const body = html`${found.items.length > 0 && total(counted, 'refused request', 'refused requests')}
${found.items.length > 0 && table('Refused requests, newest first', columns, found.items)}
${older(workspace, sent, found, pageToken === undefined)}`;
  return { page: framed(ports, visit, sent, body) };
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
  const keys = [...directory.known.keys.values()]
    .filter((key) => key.workspace === workspace)
    .map(({ id, name, state }) => ({ value: id, text: state === 'deleted' ? `${name} (deleted)` : name }));
  return {
    title: requestsSection,
    section: requestsSection,
    ...(refusal && { status: refusal.status }),
    body: html`<h1>Requests</h1>
<p class="muted">Refused requests of this workspace’s API keys and MLLP sources, with the reasons; what was sent is never kept.${
      may(phiReaders, ALL_WORKSPACES) &&
      html` Requests with unknown API keys belong to no workspace: <a href="/dashboard/audit?action=key.unknown">they are counted by address</a>.`
    }</p>
${requestForm(`/dashboard${requestsPath(workspace)}`, sent, keys, refusal)}
${body}`,
  };
}

function older(
  workspace: string,
  sent: Record<string, string>,
  { items, next_page_token }: ListPage<RefusedRequest>,
  isNewest: boolean,
): Html {
  if (next_page_token !== null) {
    const query = new URLSearchParams({ ...sent, page_token: next_page_token }).toString();
    const text = items.length < REQUESTS_A_PAGE ? 'Look further back' : 'Older';
    return html`<div id="older"><a role="button" class="outline" href="/dashboard${requestsPath(workspace)}?${query}">${text}</a></div>`;
  }
  if (items.length > 0) return html``;
  if (!isNewest) return empty('There is nothing older.');
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

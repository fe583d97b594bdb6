import type { RefusedRequest } from '../../../projections/auditTrail.ts';
import { openapiDocument } from '../../api/routes/index.ts';
import { type RefusedRequestView, refusedRequestView } from '../../api/routes/requests.ts';
import { addressOf, UNKNOWN_FIELD } from '../../api/server/answer.ts';
import { isProgram } from '../../domain/events/event.ts';
import { catalog } from '../../domain/records/catalog.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import { messageListAccess } from '../../modules/audit/accesses.ts';
import { recordAccess, recordFurtherAccess } from '../../modules/audit/recordAccess.ts';
import { findRefusedRequest, versionSince } from '../../modules/audit/requestLog.ts';
import type { Message } from '../../modules/integrations/messages/message.ts';
import type { MessageStore } from '../../modules/integrations/messages/store.ts';
import { errorMeanings, notFound } from '../../platform/errors.ts';
import { titleOf } from '../components/labels.ts';
import { breadcrumb } from '../components/layout.ts';
import {
  type DashboardRoute,
  type Html,
  type HtmlValue,
  html,
  integrators,
  type Page,
  phiReaders,
  requestReaders,
  type Visit,
} from '../components/page.ts';
import { who } from '../components/people.ts';
import { definitionList, type TableColumn, table } from '../components/tables.ts';
import { bdi, code, time } from '../components/text.ts';
import { messagePath, messagesPath, recordPath, requestsPath, requestsSection } from '../components/urls.ts';
import { auditSubject } from './auditTable.ts';
import { firstProblem } from './messages.ts';
import { inline, type OpenApiDocument } from './reference/outline.ts';
import { faultField, faultsIn, faultText, requestCurl } from './requestSample.ts';
import { isMessage, type RequestPagePorts, reason } from './requests.ts';

interface RequestPorts extends RequestPagePorts {
  messages: MessageStore;
}

/** `…/requests/{id}`: why a request was refused, and how to send one that is accepted. */
export function requestPageRoutes(ports: RequestPorts): DashboardRoute[] {
  return [
    {
      method: 'get',
      path: '/workspaces/:workspace/requests/:id',
      roles: requestReaders,
      async handle(visit) {
        const { workspace, caller, req } = visit;
        const found = await findRefusedRequest(ports, workspace, String(req.params.id));
        if (found === undefined) throw notFound('Refused request');
        await ports.names.learn([found.principal]);
        const query = { request_id: found.requestId ?? found.eventId };
        await recordAccess(ports.eventLog, caller, { action: 'audit.read', query });
        return { page: await requestPage(ports, visit, found) };
      },
    },
  ];
}

/** Returns everything known about one refused request, and how to send one of its shape. */
async function requestPage(ports: RequestPorts, visit: Visit, entry: RefusedRequest): Promise<Page> {
  const { workspace } = visit;
  const view = refusedRequestView(entry);
  const document = openapiDocument(ports.openapiPublic) as OpenApiDocument;
  const title = `${view.method} ${view.route}`;
  const faults = faultsIn(view);
  // A single message is no list.
  const isWhole = view.lines === null || (view.lines.sent === 1 && isMessage(view));
  return {
    title,
    section: requestsSection,
    body: html`${breadcrumb([{ text: requestsSection, path: requestsPath(workspace) }])}
<h1>${title}</h1>
<p>${reason(entry)}${faults.length === 0 && html`<br>${inline(errorMeanings[view.code])}`}</p>
${isWhole ? faultTable(visit, view, faults, document) : await lineTables(ports, visit, view, document)}
<div class="record-fields">${definitionList(await requestFields(ports, visit, entry, view))}</div>
${isMessage(view) ? await messagesPart(ports, visit, view) : entry.principal.type === 'api_key' && sample(ports, visit, view, document)}`,
  };
}

async function requestFields(
  { names, eventLog }: RequestPagePorts,
  { workspace, may }: Visit,
  entry: RefusedRequest,
  view: RefusedRequestView,
): Promise<[string, HtmlValue][]> {
  const { principal } = entry;
  const isKey = principal.type === 'api_key';
  const settings = isKey && may(integrators);
  const trail = new URLSearchParams({ principal: principal.id, outcome: 'refused' }).toString();
  const pairs: [string, HtmlValue][] = [
    ['Refused', time(view.refused_at)],
    ['About', may(phiReaders) ? auditSubject(entry, { principals: names }, workspace) : ''],
    [
      'Accepted later',
      may(phiReaders) ? await acceptedLater(eventLog, workspace, entry.kind, entry.id, view.refused_at) : '',
    ],
    [
      isKey ? 'API key' : 'Who',
      html`${who({ ...principal, name: names.nameOf(principal) ?? null })}
<div class="line">${isProgram(principal) && link(requestsPath(workspace, { key: principal.id }), 'All its refused requests')}
${settings && link(`/workspaces/${workspace}/keys`, 'Key settings')}
${may(phiReaders) && link(`/workspaces/${workspace}/audit?${trail}`, 'Audit trail')}</div>`,
    ],
    [
      'From',
      html`${view.client_ip}${view.user_agent && html` <small class="muted">${view.user_agent}</small>`}`,
    ],
    ['Request ID', code(view.id)],
    ['Client request ID', view.client_request_id && code(view.client_request_id)],
    ['Trace', view.traceparent && code(view.traceparent)],
  ];
  return pairs.filter(([, value]) => value !== null && value !== '');
}

function link(path: string, text: string): Html {
  return html`<a href="/dashboard${path}">${text}</a>`;
}

/** Resolves with whether a record was written after a request was refused; nothing for what is no record. */
async function acceptedLater(
  eventLog: RequestPagePorts['eventLog'],
  workspace: string,
  kind: string | null | undefined,
  id: string | null | undefined,
  since: string,
): Promise<HtmlValue> {
  if (!kind || !id || !recordKinds.has(kind)) return '';
  const later = await versionSince(eventLog, workspace, { kind, id }, since);
  if (later === undefined) return 'no';
  return html`yes, <a href="/dashboard${recordPath(workspace, kind, id)}?version=${later.version}">version ${later.version}</a>, ${time(later.at)}`;
}

const recordKinds: ReadonlySet<string> = new Set(catalog.map(({ kind }) => kind));

/** Kinds whose ids only those see who may see records. */
const personal: ReadonlySet<string> = new Set([patient.kind, encounter.kind]);

/** Returns what is wrong with a field, with the id of a missing record for those who may see it. */
function faultWords(
  { may }: Visit,
  fault: RefusedRequestView['faults'][number],
  request: Parameters<typeof faultText>[1],
  document: OpenApiDocument,
): string {
  const { kind, id } = fault;
  const isShown = id !== null && (!personal.has(kind ?? '') || may(phiReaders));
  return faultText(fault, request, document, isShown ? id : undefined);
}

/** Returns the fields at fault, each with what is wrong and a link to the requests with the same. */
function faultTable(
  visit: Visit,
  view: RefusedRequestView,
  known: ReturnType<typeof faultsIn>,
  document: OpenApiDocument,
): Html | undefined {
  if (view.fields.length === 0) return undefined;
  return html`<div class="flowing">${table(
    'Fields at fault',
    [
      {
        title: 'Field at fault',
        isHeader: true,
        cell: (field) =>
          html`<a href="/dashboard${requestsPath(visit.workspace, { field })}">${faultField(field)}</a>${
            field === UNKNOWN_FIELD &&
            html` <span class="muted">an unknown field name, which is not kept</span>`
          }`,
      },
      {
        title: 'What is wrong',
        cell: (field) => {
          const of = known.find(({ fault }) => fault.field === field);
          return of && html`<bdi>${faultWords(visit, of.fault, { ...view, kind: of.kind }, document)}</bdi>`;
        },
      },
    ],
    view.fields,
  )}</div>`;
}

async function lineTables(
  { eventLog }: RequestPagePorts,
  visit: Visit,
  view: RefusedRequestView,
  document: OpenApiDocument,
): Promise<Html> {
  const { workspace, may } = visit;
  const { refused, fields, first, sent } = view.lines as NonNullable<RefusedRequestView['lines']>;
  const [one, many] = isMessage(view) ? ['message', 'messages'] : ['line', 'lines'];
  const mayRead = may(phiReaders);
  const lines = await Promise.all(
    first.map(async (line) => ({
      ...line,
      later:
        mayRead && (await acceptedLater(eventLog, workspace, line.kind, line.record_id, view.refused_at)),
    })),
  );
  // Lines of a batch name their records; messages do not.
  const hasRecords = lines.some(({ kind }) => kind !== null);
  const record: TableColumn<(typeof lines)[number]> = {
    title: 'Record',
    cell: ({ kind, record_id: id }) =>
      kind !== null && html`${titleOf(kind)}${mayRead && id !== null && html` <bdi>${code(id)}</bdi>`}`,
  };
  const acceptance: TableColumn<(typeof lines)[number]> = {
    title: 'Accepted later',
    cell: ({ later }) => later,
  };
  const counts = (title: string, name: 'code' | 'field', counted: Record<string, number>) =>
    count > 1 &&
    Object.keys(counted).length > 0 &&
    table<[string, number]>(
      `Refused ${many} by ${title.toLowerCase()}`,
      [
        {
          title,
          isHeader: true,
          cell: ([one]) =>
            link(requestsPath(workspace, { [name]: one }), name === 'code' ? titleOf(one) : one),
        },
        { title: titleOf(many), isNumber: true, cell: ([, own]) => own.toLocaleString('en-US') },
      ],
      Object.entries(counted),
    );
  const count = Object.values(refused).reduce((sum, own) => sum + own, 0);
  return html`<h2>Refused ${many}</h2>
<p>${count === sent ? `None of the ${many} was accepted.` : `All other ${many} were accepted.`} The response named each refused ${one}.</p>
${
  lines.length > 0 &&
  table(
    `First refused ${many}`,
    [
      {
        title: titleOf(one),
        isHeader: true,
        cell: ({ line }) =>
          html`<span class="row-title">${titleOf(one)} </span>${line.toLocaleString('en-US')}`,
      },
      ...(hasRecords ? [record] : []),
      { title: 'Reason', cell: ({ code: why }) => titleOf(why) },
      {
        title: 'What is wrong',
        cell: ({ kind, faults }) =>
          faults.map(
            (fault) =>
              html`<div>${faultField(fault.field)} <bdi>${faultWords(visit, fault, { ...view, kind }, document)}</bdi></div>`,
          ),
      },
      ...(mayRead && hasRecords ? [acceptance] : []),
    ],
    lines,
  )
}
<div class="charts">${counts('Reason', 'code', refused)}
${counts('Field', 'field', fields)}</div>`;
}

/** Messages of a workspace that are looked through for those of one request, and how long before its refusal they may have arrived. */
const MOST_SOUGHT = 1_000;
const MOST_MINUTES = 10;

/** Resolves with the messages of a request that wait, newest first. */
async function waitingMessages(
  { messages }: RequestPorts,
  workspace: string,
  { id, refused_at }: RefusedRequestView,
): Promise<Message[]> {
  const earliest = new Date(Date.parse(refused_at) - MOST_MINUTES * 60_000).toISOString();
  const found: Message[] = [];
  let sought = 0;
  for await (const message of messages.rejected(workspace)) {
    sought += 1;
    if (sought > MOST_SOUGHT || message.received_at < earliest) break;
    if (message.request_id === id) found.push(message);
  }
  return found;
}

/** Resolves with what is wrong in the messages of a request, in words, or where to find it; records that they were shown. */
async function messagesPart(
  ports: RequestPorts,
  { workspace, caller }: Visit,
  view: RefusedRequestView,
): Promise<Html> {
  const path = messagesPath(workspace, { rejected: 'yes' });
  const found = await waitingMessages(ports, workspace, view);
  const note = html`<p><a href="/dashboard${path}">Messages that wait</a> are kept as they arrived, with what is wrong in them. They can be corrected and processed again there.</p>`;
  if (found.length === 0) return note;
  const listed = messageListAccess({ request_id: view.id, rejected: 'true' }, found, false);
  await recordFurtherAccess(ports.eventLog, caller, listed);
  return html`<h2>Messages that wait</h2>
<div class="dense flowing">${table(
    'Messages of the request that wait',
    [
      {
        title: 'Message',
        isHeader: true,
        cell: ({ id, event, control_id: name }) =>
          html`<a href="/dashboard${messagePath(workspace, id)}">${bdi(name ?? event ?? id)}</a>${name !== undefined && html` <small class="muted">${event}</small>`}`,
      },
      { title: 'Problem', isCut: true, cell: ({ problems }) => firstProblem(problems) },
    ],
    found.toReversed(),
  )}</div>
${note}`;
}

function sample(
  { publicUrl }: RequestPagePorts,
  { req }: Visit,
  view: RefusedRequestView,
  document: OpenApiDocument,
): Html {
  const text = requestCurl(view, document, addressOf(req, publicUrl));
  return html`<div class="call"><h2>A request that is accepted</h2><button type="button" class="outline secondary" data-copy="request-call" aria-label="Copy the call">Copy</button></div>
<p>It has the shape of the refused one, and what is required. Its values are not kept: replace the placeholders in angle brackets.</p>
<pre id="request-call" tabindex="0"><code>${text}</code></pre>`;
}

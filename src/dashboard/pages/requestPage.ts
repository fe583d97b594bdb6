import { openapiDocument } from '../../api/routes/index.ts';
import { type RefusedRequestView, refusedRequestView } from '../../api/routes/requestSchemas.ts';
import { addressOf } from '../../api/server/addressOf.ts';
import { UNKNOWN_FIELD } from '../../api/server/failingFields.ts';
import { isProgram } from '../../domain/events/eventMetadata.ts';
import type { RefusedRequest } from '../../modules/audit/requestLog.ts';
import { errorMeanings } from '../../platform/errors.ts';
import { breadcrumb } from '../components/breadcrumb.ts';
import { facts } from '../components/facts.ts';
import { type Html, type HtmlValue, html } from '../components/html.ts';
import { who } from '../components/principal.ts';
import { requestsPath, requestsSection } from '../components/requestPaths.ts';
import { integrators, type Page, phiReaders, type Visit } from '../components/route.ts';
import { table } from '../components/table.ts';
import { code, time } from '../components/text.ts';
import { titleOf } from '../components/words.ts';
import { auditSubject } from './auditColumns.ts';
import type { OpenApiDocument } from './reference/document.ts';
import { inline } from './reference/markdown.ts';
import { reason } from './requestColumns.ts';
import { requestCurl } from './requestCurl.ts';
import type { RequestPagePorts } from './requests.ts';

/** Returns everything known about one refused request, and how to send one of its shape. */
export function requestPage(ports: RequestPagePorts, visit: Visit, entry: RefusedRequest): Page {
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
${facts(known(ports, visit, entry, view))}
${view.lines && lineTables(workspace, view.lines)}
${entry.principal.type === 'api_key' && sample(ports, visit, view)}`,
  };
}

function known(
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

let document: OpenApiDocument | undefined;

function sample(
  { openapiPublic, publicUrl }: RequestPagePorts,
  { req }: Visit,
  view: RefusedRequestView,
): Html {
  // It says what the interface accepts, whatever the address, and never changes while the process runs.
  document ??= openapiDocument(openapiPublic) as OpenApiDocument;
  const text = requestCurl(view, document, addressOf(req, publicUrl));
  return html`<div class="call"><h2>Send a similar request</h2><button type="button" class="outline secondary" data-copy="request-call" aria-label="Copy the call">Copy</button></div>
<p>The request body is not kept: replace the placeholders in angle brackets with your own values.</p>
<pre id="request-call" tabindex="0"><code>${text}</code></pre>`;
}

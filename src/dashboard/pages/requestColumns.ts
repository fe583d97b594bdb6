import { refusedRequestView } from '../../api/routes/requestSchemas.ts';
import type { RefusedRequest } from '../../modules/audit/requestLog.ts';
import type { PrincipalNames } from '../../modules/records/queries/PrincipalNames.ts';
import { type Html, html } from '../components/html.ts';
import { requestPath, requestsPath } from '../components/requestPaths.ts';
import type { TableColumn } from '../components/table.ts';
import { badge, code, time } from '../components/text.ts';
import { titleOf } from '../components/words.ts';

/** Returns the columns of the list of refused requests. */
export function requestColumns(names: PrincipalNames, workspace: string): TableColumn<RefusedRequest>[] {
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

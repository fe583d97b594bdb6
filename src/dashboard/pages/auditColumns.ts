import type { AuditEntry } from '../../../projections/auditEntry.ts';
import { isRefusedRequest } from '../../../projections/refusedRequest.ts';
import { INSTALLATION } from '../../domain/events/streamNames.ts';
import { outcomeOf } from '../../modules/integrity/auditLines.ts';
import type { PrincipalNames } from '../../modules/records/queries/PrincipalNames.ts';
import { type Html, type HtmlValue, html } from '../components/html.ts';
import { principalTexts } from '../components/principal.ts';
import { documentsPath, recordPath } from '../components/recordPaths.ts';
import { requestPath } from '../components/requestPaths.ts';
import type { TableColumn } from '../components/table.ts';
import { badge, code, time } from '../components/text.ts';
import { titleOf, wordsOf } from '../components/words.ts';
import type { AuditRow } from './auditRows.ts';
import { actionText, queryText, shownText } from './auditTexts.ts';

/** Where an entry is shown: its workspace, and the full path of the trail's page. */
interface Place {
  workspace: string;
  path: string;
}

/** Returns the columns of the audit trail. */
export function auditColumns(names: PrincipalNames, place: Place): TableColumn<AuditRow>[] {
  return [
    { title: 'Time', cell: ({ entry }) => time(entry.recordedAt) },
    { title: 'Who', cell: ({ entry }) => who(entry.principal, names, place) },
    {
      title: 'Action',
      isHeader: true,
      cell: ({ entry, others }) =>
        html`${what(entry)}${others.length > 0 && further(others, names, place.workspace)}`,
    },
    { title: 'Subject', cell: ({ entry }) => auditSubject(entry, names, place.workspace) },
    { title: 'Outcome', cell: ({ entry }) => outcome(entry) },
    { title: 'Request', cell: ({ entry }) => origin(entry, place) },
  ];
}

/** Returns what else the same page showed. */
function further(others: readonly AuditEntry[], names: PrincipalNames, workspace: string): Html {
  const line = (entry: AuditEntry) => {
    const subject = auditSubject(entry, names, workspace);
    return html`<li>${what(entry)}${subject && html`<br>${subject}`}</li>`;
  };
  return html`<details class="further"><summary>and ${others.length} more on the same page</summary>
<ul>${others.map(line)}</ul></details>`;
}

/** Returns where it came from, and its id; a refused request's id links to everything known about it. */
function origin(entry: AuditEntry, { workspace }: Place): Html {
  const { clientIp, userAgent, eventId, requestId = eventId, clientRequestId } = entry;
  const id = code(requestId);
  const isKnown = isRefusedRequest(entry) && workspace !== INSTALLATION;
  return html`${clientIp}${userAgent && html`<div class="user-agent" title="${userAgent}">${userAgent}</div>`}
<div class="request-id">${isKnown ? html`<a href="/dashboard${requestPath(workspace, requestId)}">${id}</a>` : id}</div>${
    clientRequestId && html`<div class="request-id">${code(clientRequestId)}</div>`
  }`;
}

/** Returns a link to everything they did. */
function who(principal: AuditEntry['principal'], names: PrincipalNames, { path }: Place): Html {
  const name = names.nameOf(principal) ?? principal.id;
  const query = new URLSearchParams({ principal: principal.id });
  return html`<a href="${path}?${query.toString()}">${name}</a><br><small class="muted">${principalTexts[principal.type]}</small>`;
}

function what({ type, action, method, route, query, shown, count }: AuditEntry): Html {
  return html`${actionText(action ?? type)}${
    route && html`<br><small class="muted">${method} ${route}</small>`
  }${query && html`<br><small class="muted">${queryText(query)}</small>`}${count && html`<br><small class="muted">${count} times</small>`}${
    shown && html`<br><small class="muted">${shownText(shown)}</small>`
  }`;
}

/** Returns what an entry is about, with links to records. */
export function auditSubject(
  { kind, id, documentId, version }: AuditEntry,
  names: PrincipalNames,
  workspace: string,
): HtmlValue {
  if (kind === undefined) return '';
  if (id === undefined) return titleOf(kind);
  if (kind === 'api_key' || kind === 'user') {
    return html`${titleOf(kind)} ${names.nameOf({ type: kind, id }) ?? ''}<br>${code(id)}`;
  }
  if (kind === 'webhook' || kind === 'workspace') return html`${titleOf(kind)}<br>${code(id)}`;
  if (kind === 'document') {
    const link = (path: string, text: string) => html`<a href="/dashboard${path}">${text}</a>`;
    return html`Document${documentId && html` ${link(documentsPath(workspace, id, documentId), documentId)}`}
of encounter ${link(recordPath(workspace, 'encounter', id), id)}${ofVersion(version)}`;
  }
  return html`${titleOf(kind)} ${recordLink(workspace, kind, id)}${ofVersion(version)}`;
}

function recordLink(workspace: string, kind: string, id: string): Html {
  return html`<a href="/dashboard${recordPath(workspace, kind, id)}">${id}</a>`;
}

function ofVersion(version: number | undefined): Html {
  return html`${version && html`<br><small class="muted">version ${version}</small>`}`;
}

function outcome(entry: AuditEntry): Html {
  const { code: reason, fields } = entry;
  const text = outcomeOf(entry);
  if (reason === undefined) return badge(text, text === 'sent' ? 'neutral' : 'good');
  return html`${badge('refused', 'bad')}<br><small>${wordsOf(reason)}${fields && `: ${fields.join(', ')}`}</small>`;
}

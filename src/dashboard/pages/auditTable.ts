import type { AuditEntry } from '../../../projections/auditAggregation.ts';
import { isRefusedRequest } from '../../../projections/auditTrail.ts';
import type { DisclosedRange, DisclosedRecord } from '../../domain/events/payloads.ts';
import { type AccessAction, isPageView } from '../../modules/audit/recordAccess.ts';
import { outcomeOf } from '../../modules/integrity/export.ts';
import type { PrincipalNames } from '../../modules/records/queries/principalNames.ts';
import { type Html, type HtmlValue, html } from '../components/page.ts';
import { principalTexts } from '../components/people.ts';
import type { TableColumn } from '../components/tables.ts';
import { badge, code, time, titleOf, wordsOf } from '../components/text.ts';
import { documentsPath, recordPath, requestPath } from '../components/urls.ts';

const accessTexts: Record<AccessAction, string> = {
  'record.read': 'Record read',
  'record.list': 'Records listed',
  'record.search': 'Records searched',
  'record.reconcile': 'Records reconciled',
  'record.history': 'History read',
  'record.proof': 'Version proof read',
  'record.copy': 'Patient copied for the individual',
  'record.break_glass': 'Record opened without the right, with a reason',
  'record.readiness': 'Encounter readiness read',
  'readiness.export': 'Encounter readiness exported',
  'readiness.simulation': 'Readiness settings simulated',
  'readiness.scorecard': 'Readiness scorecard generated',
  'message.list': 'Messages listed',
  'message.read': 'Message read',
  'message.put_aside': 'Message put aside',
  'record.disclosures': 'Disclosures reported',
  'record.unchanged': 'Unchanged records skipped',
  'record.dry_run': 'Dry runs answered',
  'record.changes': 'Changes of a sender read',
  'record.undo': 'Undo planned or applied',
  'record.batch': 'Batch lines refused',
  'file.signed': 'File signed',
  'file.imported': 'File imported',
  'document.list': 'Documents listed',
  'document.download': 'Document downloaded',
  'document.history': 'Document history read',
  'document.proof': 'Document version proof read',
  'events.read': 'Events read',
  'events.subscribe': 'Event stream opened',
  'events.sent': 'Events sent to stream',
  'webhook.sent': 'Messages sent to webhook',
  'webhook.attempts': 'Webhook attempts read',
  'consumer.removed': 'Consumer removed',
  export: 'Events exported',
  verify: 'Log verified',
  'hold.list': 'Legal holds listed',
  'retention.list': 'Records beyond retention listed',
  'retention.apply': 'Retention applied',
  'workspace.reset': 'Sandbox reset',
  'audit.read': 'Audit trail read',
  'audit.export': 'Audit trail exported',
  'request.refused': 'Request refused',
  'key.unknown': 'Unknown API keys refused',
  'token.issued': 'Access token issued',
  sign_in: 'Signed in',
  'sign_in.refused': 'Sign-in refused',
  sign_out: 'Signed out',
};

/**
 * Returns what was done, in words: by its action for an `AccessRecorded`, otherwise by the event's type
 * (`PatientUpserted`).
 */
export function actionText(action: string): string {
  const known = accessTexts[action as AccessAction];
  if (known !== undefined) return known;
  const words = action.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.replace(/^Api key/, 'API key');
}

/** Returns what was requested, for people: `kind: patient, id: patient-1001`. */
function queryText(query: Record<string, unknown>): string {
  const text = (value: unknown) => (typeof value === 'object' ? JSON.stringify(value) : String(value));
  return Object.entries(query)
    .map(([name, value]) => `${wordsOf(name)}: ${Array.isArray(value) ? value.join(', ') : text(value)}`)
    .join('; ');
}

/** Maximum number of shown things that are named. */
const MOST_NAMED = 5;

/**
 * Returns what was shown or sent, for people: `12 at 8135–9120, 9300, deidentified`, or `1: patient patient-1001`.
 */
function shownText({ count, ranges, things, view }: DisclosedRange): string {
  if (things) return thingsText(things);
  const places = ranges.map(({ from, to }) => (from === to ? `${from}` : `${from}–${to}`)).join(', ');
  return `${count === undefined ? 'Positions' : `${count} at`} ${places}${view === undefined ? '' : `, ${view}`}`;
}

function thingsText(things: readonly DisclosedRecord[]): string {
  if (things.length === 0) return 'Nothing found';
  const named = things
    .slice(0, MOST_NAMED)
    .map(({ kind, record_id, document_id }) => `${kind} ${document_id ?? record_id}`);
  const more = things.length - named.length;
  return `${things.length}: ${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Where entries are shown: their workspace, and the full path of the trail's page. */
interface Place {
  workspace: string;
  path: string;
  /** Whether the reader may open the pages of refused requests. */
  hasRequests: boolean;
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
function origin(entry: AuditEntry, { workspace, hasRequests }: Place): Html {
  const { clientIp, userAgent, eventId, requestId = eventId, clientRequestId } = entry;
  const id = code(requestId);
  const isKnown = hasRequests && isRefusedRequest(entry);
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

/** A row of the trail's page: an entry, and the other entries made by the same page view. */
interface AuditRow {
  entry: AuditEntry;
  others: readonly AuditEntry[];
}

/**
 * Returns entries as rows, in order. What one view of a dashboard page showed is one row, at the place of its newest
 * entry; it begins with the entry that has the request's id, if that is among them.
 */
export function auditRows(entries: readonly AuditEntry[]): AuditRow[] {
  const views = Map.groupBy(entries.filter(isPageView), requestOf);
  const shown = new Set<string>();
  return entries.flatMap((entry) => {
    if (!isPageView(entry)) return { entry, others: [] };
    const request = requestOf(entry);
    if (shown.has(request)) return [];
    shown.add(request);
    const view = views.get(request) ?? [];
    const main = view.find(({ eventId }) => eventId === request) ?? entry;
    return { entry: main, others: view.filter((one) => one !== main) };
  });
}

function requestOf({ requestId, eventId }: AuditEntry): string {
  return requestId ?? eventId;
}

import type { AuditEntry } from '../../../projections/auditAggregation.ts';
import { isRefusedRequest } from '../../../projections/auditTrail.ts';
import type { DisclosedRange, DisclosedRecord } from '../../domain/events/payloads.ts';
import { catalog } from '../../domain/records/catalog.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import { type AccessAction, isPageView } from '../../modules/audit/recordAccess.ts';
import { outcomeOf } from '../../modules/integrity/export.ts';
import type { RecordNames } from '../../modules/records/queries/lists.ts';
import type { PrincipalNames } from '../../modules/records/queries/principalNames.ts';
import type { WebhookDirectory } from '../../modules/webhooks/webhook.ts';
import { termsText } from '../components/forms.ts';
import { titleOf, wordsOf } from '../components/labels.ts';
import { type Html, type HtmlValue, html } from '../components/page.ts';
import { principalTexts } from '../components/people.ts';
import { namedLink } from '../components/records.ts';
import { pluralTitle } from '../components/recordTable.ts';
import type { TableColumn } from '../components/tables.ts';
import { definitionList } from '../components/tables.ts';
import { badge, bdi, code, idBeside, time } from '../components/text.ts';
import { documentsPath, requestPath } from '../components/urls.ts';

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
  'record.diff': 'Two moments compared',
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
  'audit.report': 'Report of access out of the ordinary read',
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

/** What the ids in entries belong to. */
export interface SubjectNames {
  principals: PrincipalNames;
  /** Only for who may read records. */
  records?: RecordNames | undefined;
  webhooks?: Pick<WebhookDirectory, 'find'>;
}

/** Returns the columns of the audit trail: a line an entry, with all about it on request. */
export function auditColumns(names: SubjectNames, place: Place): TableColumn<AuditRow>[] {
  return [
    { title: 'Time', cell: ({ entry }) => time(entry.recordedAt) },
    { title: 'Who', isCut: true, cell: ({ entry }) => who(entry.principal, names.principals, place) },
    { title: 'Action', isHeader: true, isCut: true, cell: (row) => whole(row, names, place) },
    { title: 'Subject', isCut: true, cell: ({ entry }) => auditSubject(entry, names, place.workspace) },
    { title: 'Outcome', isCut: true, cell: ({ entry }) => outcome(entry) },
  ];
}

/** Returns the records that entries are about. */
export function recordsIn(entries: readonly AuditEntry[]): { kind: string; id: string }[] {
  return entries.flatMap(({ kind, id }) => {
    const named = kind === 'document' ? encounter.kind : kind;
    const isRecord = catalog.some((one) => one.kind === named);
    return named !== undefined && id !== undefined && isRecord ? [{ kind: named, id }] : [];
  });
}

/** Returns what was done, and, opened, how, and what else the same page showed. */
function whole({ entry, others }: AuditRow, names: SubjectNames, place: Place): Html {
  const { route, method, query, shown, count, clientIp, userAgent, clientRequestId, disclosedTo } = entry;
  const more = others.length > 0 && html` <small class="muted">and ${others.length} more</small>`;
  const line = (other: AuditEntry) => {
    const subject = auditSubject(other, names, place.workspace);
    return html`<li>${actionText(other.action ?? other.type)}${subject && html`: ${subject}`}${parts(other).map((part) => html`<br>${part}`)}</li>`;
  };
  const facts: [string, HtmlValue][] = [
    ['Request', requestId(entry, place)],
    ['Sent with', clientRequestId && code(clientRequestId)],
    ['Endpoint', route && html`${method} ${route}`],
    ['Reason', disclosedTo?.purpose_statement && bdi(disclosedTo.purpose_statement)],
    ['Recipient', disclosedTo?.recipient && termsText(disclosedTo)],
    ['Asked for', query && queryText(query)],
    ['Shown', shown && shownText(shown)],
    ['Times', count],
    ['From', clientIp && html`${clientIp}${userAgent && html`, ${bdi(userAgent)}`}`],
    ['On the same page', others.length > 0 && html`<ul class="plain">${others.map(line)}</ul>`],
  ];
  return html`<details class="entry"><summary><span>${actionText(entry.action ?? entry.type)}${more}</span></summary>
${definitionList(facts.filter(([, value]) => value))}</details>`;
}

/** Returns what was requested and shown, each as a text. */
function parts({ query, shown }: AuditEntry): HtmlValue[] {
  return [query && queryText(query), shown && shownText(shown)].filter(Boolean);
}

/** Returns the id of the request; a refused one's links to everything known about it. */
function requestId(entry: AuditEntry, { workspace, hasRequests }: Place): Html {
  const { eventId, requestId: id = eventId } = entry;
  const isKnown = hasRequests && isRefusedRequest(entry);
  return html`<span class="request-id">${isKnown ? html`<a href="/dashboard${requestPath(workspace, id)}">${code(id)}</a>` : code(id)}</span>`;
}

/** Returns a link to everything they did. */
function who(principal: AuditEntry['principal'], names: PrincipalNames, { path }: Place): Html {
  const name = names.nameOf(principal) ?? principal.id;
  const query = new URLSearchParams({ principal: principal.id });
  return html`<a href="${path}?${query.toString()}" title="${name}">${bdi(name)}</a> <small class="muted">${principalTexts[principal.type]}</small>`;
}

/** Returns what an entry is about, with links to records, by name where names are known. */
export function auditSubject(entry: AuditEntry, names: SubjectNames, workspace: string): HtmlValue {
  const { kind, id, documentId, version } = entry;
  if (kind === undefined) return '';
  if (id === undefined) {
    const listed = catalog.find((one) => one.kind === kind);
    return listed ? pluralTitle(listed) : titleOf(kind);
  }
  if (kind === 'api_key' || kind === 'user') {
    const name = names.principals.nameOf({ type: kind, id });
    return html`${titleOf(kind)} ${name ? html`${bdi(name)} ${idBeside(id)}` : code(id)}`;
  }
  if (kind === 'webhook') {
    const { url, recipient } = names.webhooks?.find(id) ?? {};
    if (url === undefined) return html`Webhook ${code(id)}`;
    return html`Webhook ${bdi(url)}${recipient && html`, to ${bdi(recipient)}`} ${idBeside(id)}`;
  }
  if (kind === 'workspace') return html`${titleOf(kind)} ${code(id)}`;
  const link = (of: string) => namedLink(workspace, of, id, names.records?.nameOf(of, id));
  const ofVersion = version && html` <small class="muted">version ${version}</small>`;
  if (kind === 'document') {
    const document =
      documentId &&
      html` <a href="/dashboard${documentsPath(workspace, id, documentId)}">${bdi(documentId)}</a>`;
    return html`Document${document}${ofVersion} of encounter ${link(encounter.kind)}`;
  }
  return html`${titleOf(kind)} ${link(kind)}${ofVersion}`;
}

function outcome(entry: AuditEntry): Html {
  const { code: reason, fields } = entry;
  const text = outcomeOf(entry);
  if (reason === undefined) return badge(text, text === 'sent' ? 'neutral' : 'good');
  return html`${badge('refused', 'bad')} <small>${wordsOf(reason)}${fields && `: ${fields.join(', ')}`}</small>`;
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

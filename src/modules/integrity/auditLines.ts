import type { AuditEntry } from '../../../projections/auditEntry.ts';
import { termNames } from '../../domain/events/disclosureTerms.ts';
import type { Principal } from '../../domain/events/eventMetadata.ts';
import type { ShownThing } from '../../domain/events/shown.ts';
import { csvLine } from '../../platform/csv.ts';
import type { ExportFormat } from './manifest.ts';

const columns = [
  'position',
  'recorded_at',
  'principal_type',
  'principal_id',
  'principal_name',
  'type',
  'action',
  'kind',
  'record_id',
  'document_id',
  'version',
  'outcome',
  'code',
  'method',
  'route',
  'status',
  'query',
  'fields',
  'count',
  'shown_count',
  'shown_positions',
  'shown_things',
  'shown_event_types',
  'shown_view',
  ...termNames,
  'client_ip',
  'user_agent',
  'request_id',
  'client_request_id',
  'traceparent',
  'event_id',
] as const;

/** Returns the header of a file in this format. */
export function auditHeader(format: ExportFormat): string {
  return format === 'csv' ? csvLine(columns) : '';
}

/** Formats one entry as a line, including the line end. */
export function auditLine(
  entry: AuditEntry,
  format: ExportFormat,
  nameOf: (principal: Principal) => string | undefined,
): string {
  const line = toLine(entry, nameOf(entry.principal));
  if (format === 'csv') return csvLine(columns.map((column) => line[column]));
  return `${JSON.stringify(line)}\n`;
}

function toLine(entry: AuditEntry, principalName: string | undefined) {
  return {
    position: entry.position,
    recorded_at: entry.recordedAt,
    principal_type: entry.principal.type,
    principal_id: entry.principal.id,
    principal_name: principalName,
    type: entry.type,
    action: entry.action,
    kind: entry.kind,
    record_id: entry.id,
    document_id: entry.documentId,
    version: entry.version,
    outcome: outcomeOf(entry),
    code: entry.code,
    method: entry.method,
    route: entry.route,
    status: entry.status,
    query: entry.query && queryText(entry.query),
    fields: (entry.fields ?? Object.keys(entry.lines?.fields ?? {})).join(' ') || undefined,
    count: entry.count,
    shown_count: entry.shown?.count,
    shown_positions: entry.shown?.ranges.map(({ from, to }) => `${from}-${to}`).join(' '),
    shown_things: entry.shown?.things?.map(thingText).join(' '),
    shown_event_types: entry.shown?.event_types?.join(' '),
    shown_view: entry.shown?.view,
    recipient: entry.disclosedTo?.recipient,
    recipient_address: entry.disclosedTo?.recipient_address,
    purpose: entry.disclosedTo?.purpose,
    purpose_statement: entry.disclosedTo?.purpose_statement,
    client_ip: entry.clientIp,
    user_agent: entry.userAgent,
    request_id: entry.requestId ?? entry.eventId,
    client_request_id: entry.clientRequestId,
    traceparent: entry.traceparent,
    event_id: entry.eventId,
  } satisfies Record<(typeof columns)[number], string | number | undefined>;
}

/**
 * Returns what came of it: `refused`, `accepted` or, for what streams and webhooks were sent, `sent`, as the entry does not say
 * whether the receiver accepted it.
 */
export function outcomeOf({ code, action }: AuditEntry): 'accepted' | 'refused' | 'sent' {
  if (code !== undefined) return 'refused';
  return action === 'events.sent' || action === 'webhook.sent' ? 'sent' : 'accepted';
}

/** Returns what was requested, as the query of a URL: `kind=patient&id=patient-1001&seen=all`. */
export function queryText(query: Record<string, unknown>): string {
  const isObject = (value: unknown) => typeof value === 'object' && !Array.isArray(value);
  const texts = Object.entries(query).map(([name, value]): [string, string] => [
    name,
    isObject(value) ? JSON.stringify(value) : String(value),
  ]);
  return new URLSearchParams(texts).toString();
}

/** `patient/patient-1001`, `document/encounter-4001/scan-1`: kind and ids, percent-encoded. */
function thingText({ kind, record_id, document_id }: ShownThing): string {
  const ids = document_id === undefined ? [record_id] : [record_id, document_id];
  return [kind, ...ids.map(encodeURIComponent)].join('/');
}

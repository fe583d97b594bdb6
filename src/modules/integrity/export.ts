import { v7 as uuidv7 } from 'uuid';
import type { AuditEntry } from '../../../projections/auditAggregation.ts';
import type { ErasedEvent, Position, Principal, RecordedEvent } from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { type DisclosedRange, type DisclosedRecord, termNames } from '../../domain/events/payloads.ts';
import { addLeaf, emptyTree, eventLeaf, type Hash } from '../../domain/merkle.ts';
import { changedKind, eventSubject, eventTypesOf } from '../../domain/records/catalog.ts';
import { csvLine } from '../../platform/csv.ts';
import { ServiceError } from '../../platform/errors.ts';
import { type EventLog, inLogOrder } from '../../storage/eventLog.ts';
import { type AccessRecorded, recordAccess, recordFurtherAccess } from '../audit/recordAccess.ts';
import {
  type ErasedLine,
  type ExportedEvent,
  type ExportFilters,
  type ExportFormat,
  type ExportJob,
  type ExportProgress,
  type ExportSink,
  isComplete,
  isLimitedByTime,
} from './exportArchive.ts';
import { ErasureCheck, type RangeBatch, readWorkspace } from './verify.ts';

/** The columns of the audit trail, in order. */
export const auditColumns = [
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
  return format === 'csv' ? csvLine(auditColumns) : '';
}

/** Formats one entry as a line, including the line end. */
export function auditLine(
  entry: AuditEntry,
  format: ExportFormat,
  nameOf: (principal: Principal) => string | undefined,
): string {
  const line = toLine(entry, nameOf(entry.principal));
  if (format === 'csv') return csvLine(auditColumns.map((column) => line[column]));
  return `${JSON.stringify(line)}\n`;
}

/** Returns the cells of an entry of the audit trail, by column; `principalName`: what the principal is called. */
export function toLine(entry: AuditEntry, principalName: string | undefined) {
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
  } satisfies Record<(typeof auditColumns)[number], string | number | undefined>;
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
function thingText({ kind, record_id, document_id }: DisclosedRecord): string {
  const ids = document_id === undefined ? [record_id] : [record_id, document_id];
  return [kind, ...ids.map(encodeURIComponent)].join('/');
}

/** What is needed to format the lines of an export. */
interface LineContext {
  format: ExportFormat;
  /** Returns the display name of a principal. */
  nameOf(principal: Principal): string | undefined;
}

const exportColumns = [
  'position',
  'recorded_at',
  'type',
  'action',
  'kind',
  'record_id',
  'document_id',
  'version',
  'principal_type',
  'principal_id',
  'principal_name',
  'client_ip',
  'user_agent',
  'request_id',
  'event_id',
  'schema_version',
  'data',
] as const;

/** Returns the header of a file in this format. */
function exportHeader(format: ExportFormat): string {
  return format === 'csv' ? csvLine(exportColumns) : '';
}

/** Formats one event as a line of an export, including the line end. The same event always results in the same line. */
function exportLine(event: RecordedEvent, index: number, leaf: Hash, context: LineContext): string {
  if (context.format === 'csv') return csvLine(cellsOf(event, context));
  const { position, id, type, stream, revision, recordedAt, metadata, data } = event;
  const line: ExportedEvent = {
    position,
    index,
    id,
    type,
    stream,
    revision,
    recordedAt,
    metadata,
    data,
    leaf,
  };
  return `${JSON.stringify(line)}\n`;
}

/** Formats the place of an erased event as a line of an NDJSON export, including the line end. */
function erasedLine({ position, id, stream, revision, leaf }: ErasedEvent, index: number): string {
  const line: ErasedLine = { position, index, id, stream, revision, erased: true, leaf };
  return `${JSON.stringify(line)}\n`;
}

function cellsOf(event: RecordedEvent, { nameOf }: LineContext) {
  const { metadata, data } = event;
  const { principal } = metadata;
  const subject = eventSubject(event);
  const cells: Record<(typeof exportColumns)[number], string | number | undefined> = {
    position: event.position,
    recorded_at: event.recordedAt,
    type: event.type,
    action: event.type === 'AccessRecorded' ? (data.action as string) : undefined,
    kind: subject.kind,
    record_id: subject.recordId,
    document_id: subject.documentId,
    version: event.revision + 1,
    principal_type: principal.type,
    principal_id: principal.id,
    principal_name: nameOf(principal),
    client_ip: metadata.clientIp,
    user_agent: metadata.userAgent,
    request_id: metadata.requestId,
    event_id: event.id,
    schema_version: metadata.schemaVersion,
    data: JSON.stringify(data),
  };
  return exportColumns.map((column) => cells[column]);
}

/**
 * Adds an export from a position on to the audit trail. Returns where the export ends: with that entry. The entry states that
 * everything up to it is exported, except for an export limited by time: see `recordExported`. Rejects with `unavailable`.
 */
export async function recordExport(
  eventLog: EventLog,
  caller: Caller,
  job: ExportJob,
  from: Position,
): Promise<Position> {
  if (isLimitedByTime(job.filters)) return recordAccess(eventLog, caller, accessOf(job));
  return recordAccess(eventLog, caller, accessOf(job, { ranges: [{ from, to: await eventLog.head() }] }));
}

/** Adds events that an export limited by time is about to write to the audit trail. Rejects with `unavailable`. */
async function recordExported(
  eventLog: EventLog,
  caller: Caller,
  job: ExportJob,
  written: Pick<DisclosedRange, 'ranges' | 'count'>,
): Promise<void> {
  await recordFurtherAccess(eventLog, caller, accessOf(job, written));
}

function accessOf(
  { filters, format }: ExportJob,
  written?: Pick<DisclosedRange, 'ranges' | 'count'>,
): AccessRecorded {
  const asked = Object.entries({ ...filters, format }).filter(([, value]) => value !== null);
  const types = filters.kind === null ? {} : { event_types: eventTypesOf(filters.kind) };
  const query = Object.fromEntries(asked);
  return { action: 'export', query, ...(written && { shown: { ...written, ...types } }) };
}

/** What an export reads from, and for whom. */
export interface ExportContext extends Pick<LineContext, 'nameOf'> {
  eventLog: EventLog;
  caller: Caller;
}

/** Returns the progress of an export that has not begun, up to and including a position. */
export function startOfExport(until: Position): ExportProgress {
  return {
    position: 0,
    until,
    tree: emptyTree,
    lastEvent: null,
    events: 0,
    bytes: 0,
    first: null,
    last: null,
  };
}

/**
 * Writes the events of a workspace in log order, starting from `progress`, which is updated. Hashes all of them, including those
 * that the filters omit and erased ones. What an export limited by time writes is in the audit trail before it is written. Continues to the tombstones of what was erased in the meantime, once that is in the
 * audit trail, too. Rejects with `conflict` at an event that the store cannot read.
 */
export async function exportEvents(
  { eventLog, caller, nameOf }: ExportContext,
  job: ExportJob,
  progress: ExportProgress,
  sink: ExportSink,
): Promise<void> {
  const { workspace, format } = job;
  const write = async (text: string) => {
    if (text === '') return;
    await sink.write(text);
    progress.bytes += Buffer.byteLength(text);
  };
  if (progress.bytes === 0) await write(exportHeader(format));
  const erasures = new ErasureCheck();
  for (;;) {
    const { position: after, until } = progress;
    for await (const batch of readWorkspace(eventLog, workspace, { after, until })) {
      requireReadable(batch, workspace);
      let text = '';
      const written: Position[] = [];
      for (const event of inLogOrder({ events: batch.events, erased: batch.erased })) {
        erasures.check(event);
        const line = nextEventText(event as RecordedEvent | ErasedEvent, job, nameOf, progress);
        if (line !== '') written.push(event.position);
        text += line;
      }
      const [first, last] = [written[0], written.at(-1)];
      if (isLimitedByTime(job.filters) && first !== undefined && last !== undefined) {
        const ranges = [{ from: first, to: last }];
        await recordExported(eventLog, caller, job, { ranges, count: written.length });
      }
      await write(text);
      progress.position = batch.position;
      await sink.reached(progress);
    }
    if (erasures.unnamed === undefined) return;
    progress.until = await recordExport(eventLog, { ...caller, requestId: uuidv7() }, job, until + 1);
  }
}

function requireReadable({ unreadable: [damaged] }: RangeBatch, workspace: string): void {
  if (damaged === undefined) return;
  throw new ServiceError(
    'conflict',
    `The event at position ${damaged.position} cannot be read. To find out why, run: chartledger verify --workspace ${workspace}`,
  );
}

/** Returns the text of an event, if wanted; `progress` is moved past it. */
function nextEventText(
  event: RecordedEvent | ErasedEvent,
  { filters, format }: ExportJob,
  nameOf: LineContext['nameOf'],
  progress: ExportProgress,
): string {
  const { size } = progress.tree;
  const leaf = 'data' in event ? eventLeaf(event) : event.leaf;
  progress.tree = addLeaf(progress.tree, leaf);
  if (!('data' in event)) {
    if (format === 'csv' || !isComplete(filters)) return '';
    progress.events += 1;
    return erasedLine(event, size);
  }
  progress.lastEvent = { id: event.id, recordedAt: event.recordedAt };
  if (!isWanted(event, filters)) return '';
  progress.events += 1;
  progress.last = { position: event.position, recordedAt: event.recordedAt };
  progress.first ??= progress.last;
  return exportLine(event, size, leaf, { format, nameOf });
}

/** ISO 8601 in UTC, to the millisecond, sorts as text. */
function isWanted(event: RecordedEvent, { from, to, kind }: ExportFilters): boolean {
  if (from !== null && event.recordedAt < from) return false;
  if (to !== null && event.recordedAt >= to) return false;
  return kind === null || changedKind(event) === kind;
}

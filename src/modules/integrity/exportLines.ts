import type { ErasedEvent, RecordedEvent } from '../../domain/events/event.ts';
import type { Principal } from '../../domain/events/eventMetadata.ts';
import type { Hash } from '../../domain/hashTree.ts';
import { eventSubject } from '../../domain/records/eventSubject.ts';
import { csvLine } from '../../platform/csv.ts';
import type { ErasedLine, ExportedEvent, ExportFormat } from './manifest.ts';

/** What is needed to format the lines of an export. */
export interface LineContext {
  format: ExportFormat;
  /** Returns the display name of a principal. */
  nameOf(principal: Principal): string | undefined;
}

const columns = [
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
export function exportHeader(format: ExportFormat): string {
  return format === 'csv' ? csvLine(columns) : '';
}

/** Formats one event as a line of an export, including the line end. The same event always results in the same line. */
export function exportLine(event: RecordedEvent, index: number, leaf: Hash, context: LineContext): string {
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
export function erasedLine({ position, id, stream, revision, leaf }: ErasedEvent, index: number): string {
  const line: ErasedLine = { position, index, id, stream, revision, erased: true, leaf };
  return `${JSON.stringify(line)}\n`;
}

function cellsOf(event: RecordedEvent, { nameOf }: LineContext) {
  const { metadata, data } = event;
  const { principal } = metadata;
  const subject = eventSubject(event);
  const cells: Record<(typeof columns)[number], string | number | undefined> = {
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
  return columns.map((column) => cells[column]);
}

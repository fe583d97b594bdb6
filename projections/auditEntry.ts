import type { DisclosureTerms } from '../src/domain/events/disclosureTerms.ts';
import { dataAs, type ErasedEvent, type Position, type RecordedEvent } from '../src/domain/events/event.ts';
import type { Principal } from '../src/domain/events/eventMetadata.ts';
import { type ListedEvent, type Written, writtenOf } from '../src/domain/events/recordErased.ts';
import type { RefusedLines } from '../src/domain/events/refusedLines.ts';
import type { Shown } from '../src/domain/events/shown.ts';
import { upcast } from '../src/domain/events/upcast.ts';
import {
  changedKind,
  type EventSubject,
  eventSubject,
  subjectKinds,
} from '../src/domain/records/eventSubject.ts';

/** Which setting was changed. */
type SettingKind = 'workspace' | 'api_key' | 'webhook' | 'user';

/** One line of the audit trail: who did what to what, and with what result. It contains no field of a record except ids. */
export interface AuditEntry {
  position: Position;
  eventId: string;
  /** Type of the event. */
  type: string;
  /** The action of an `AccessRecorded`. */
  action?: string;
  /** ISO 8601, UTC. */
  recordedAt: string;
  principal: Principal;
  clientIp?: string;
  userAgent?: string;
  /** The client's id for its request, and the trace that it is part of. */
  clientRequestId?: string;
  traceparent?: string;
  /** Absent if it is the event's id. */
  requestId?: string;
  /**
   * What it is about: a kind of record, `document`, or a `SettingKind`; for a read of the audit trail, what it was searched for.
   */
  kind?: string;
  /** The caller's id of the record; for a document, that of its encounter; otherwise the id of what was changed. */
  id?: string;
  documentId?: string;
  /** For a record or document that was changed: the version created by the event. */
  version?: number;
  /** Why it was refused; absent if it was accepted. */
  code?: string;
  /** For a refused request, or a batch with refused lines. */
  method?: string;
  route?: string;
  /** The HTTP status of the code; absent in entries of earlier versions. */
  status?: number;
  /** Names of the fields at fault, if any. */
  fields?: string[];
  lines?: RefusedLines;
  /** What was requested besides the subject, as the event has it: never words that were searched for. */
  query?: Record<string, unknown>;
  /** What was shown or sent, if more than one thing. */
  shown?: Shown;
  /** How many there were, if the entry stands for several. */
  count?: number;
  /** Recipient and purpose, as stated at the time of disclosure. */
  disclosedTo?: DisclosureTerms;
}

/** Types of events that change settings start with one of these; the field contains the id of what is changed. */
const settings: readonly { begin: string; kind: SettingKind; field: string }[] = [
  { begin: 'ApiKey', kind: 'api_key', field: 'key_id' },
  { begin: 'Webhook', kind: 'webhook', field: 'webhook_id' },
  { begin: 'User', kind: 'user', field: 'user_id' },
  { begin: 'Workspace', kind: 'workspace', field: 'workspace' },
  { begin: 'Hold', kind: 'workspace', field: 'workspace' },
];

/** Returns the entry of an event. Throws when it has an unknown schema version. */
export function auditEntry(recorded: RecordedEvent): AuditEntry {
  const event = upcast(recorded);
  const { type, data } = event;
  const subject = eventSubject(event);
  const entry = entryOf(event, writtenOf(event), subject);
  if (type === 'AccessRecorded') addAccess(entry, event);
  else if (entry.version === undefined && subject.kind === undefined) addSetting(entry, data);
  return entry;
}

/** Returns the entry of an erased event, from what its tombstone says about it: the same as it was before. */
export function erasedEntry(event: ErasedEvent, listed: ListedEvent): AuditEntry {
  const { kind, record_id: recordId, document_id: documentId, written } = listed;
  return entryOf(event, written, { kind: kind === 'readiness' ? 'encounter' : kind, recordId, documentId });
}

type Place = Pick<RecordedEvent, 'id' | 'stream' | 'revision' | 'position'>;

function entryOf(
  { id, stream, revision, position }: Place,
  written: Written,
  subject: EventSubject,
): AuditEntry {
  const { requestId, type, ...who } = written;
  const entry: AuditEntry = { position, eventId: id, type, ...who };
  if (requestId !== id) entry.requestId = requestId;
  if (subject.kind !== undefined) entry.kind = subject.kind;
  if (subject.recordId !== undefined) entry.id = subject.recordId;
  if (subject.documentId !== undefined) entry.documentId = subject.documentId;
  if (changedKind({ type, stream }) !== undefined) entry.version = revision + 1;
  return entry;
}

function addAccess(entry: AuditEntry, { data }: RecordedEvent): void {
  const { action, code, method, route } = data as Record<string, string | undefined>;
  if (action !== undefined) entry.action = action;
  if (code !== undefined) entry.code = code;
  if (method !== undefined) entry.method = method;
  if (route !== undefined) entry.route = route;
  if (data.status !== undefined) entry.status = data.status as number;
  if (data.fields !== undefined) entry.fields = data.fields as string[];
  if (data.lines !== undefined) entry.lines = dataAs<RefusedLines>(data.lines as object);
  if (data.webhook_id !== undefined) {
    entry.kind = 'webhook';
    entry.id = String(data.webhook_id);
  }
  if (data.query !== undefined) addQuery(entry, dataAs<Record<string, unknown>>(data.query as object));
  if (data.disclosed_to !== undefined)
    entry.disclosedTo = dataAs<DisclosureTerms>(data.disclosed_to as object);
  if (data.count !== undefined) entry.count = data.count as number;
  if (data.shown !== undefined) entry.shown = dataAs<Shown>(data.shown as object);
}

function addQuery(entry: AuditEntry, query: Record<string, unknown>): void {
  if (Object.keys(query).length > 0) entry.query = query;
  const { id, kind } = query;
  if (!entry.action?.startsWith('audit.') || typeof id !== 'string') return;
  entry.id = id;
  if (typeof kind === 'string' && subjectKinds.includes(kind)) entry.kind = kind;
}

function addSetting(entry: AuditEntry, data: RecordedEvent['data']): void {
  const setting = settings.find(({ begin }) => entry.type.startsWith(begin));
  if (setting === undefined) return;
  entry.kind = setting.kind;
  const id = data[setting.field];
  if (typeof id === 'string') entry.id = id;
}

import type { RecordedEvent } from '../../../domain/events/event.ts';
import { documentStream } from '../../../domain/events/streamNames.ts';
import { upcast } from '../../../domain/events/upcast.ts';
import {
  type DocumentEventType,
  type DocumentState,
  type DocumentView,
  documentFormats,
  evolveDocument,
  type PresentDocument,
  uploadedBy,
} from '../../../domain/records/document.ts';
import { notFound, ServiceError } from '../../../platform/errors.ts';
import type { DocumentStore } from '../../../storage/documentStore.ts';
import type { EventLog } from '../../../storage/eventLog.ts';
import type { Page, PageRequest } from './page.ts';
import { type DocumentContent, readContent, type WantedPart } from './readDocument.ts';
import { type Moment, stateAt } from './stateAt.ts';
import { type HistoryPorts, readEventPage, toEntries, type VersionEntry } from './versionPage.ts';

/** Objects asked for at once. */
const ASKED_AT_ONCE = 8;

/** Identifies a document of an encounter. */
export interface DocumentName {
  workspace: string;
  encounterId: string;
  documentId: string;
}

/** One version of a document; a removal has no file, so everything about the file is null. */
export interface DocumentVersion extends VersionEntry {
  type: DocumentEventType;
  category: DocumentView['category'] | null;
  filename: string | null;
  content_type: DocumentView['content_type'] | null;
  /** Bytes. */
  size: number | null;
  /** Lower-case hex. */
  sha256: string | null;
  /**
   * Whether the bytes are still stored; bytes that were replaced or removed are deleted after the retention period.
   */
  content_available: boolean;
}

/**
 * Resolves with a page of a document's versions, newest first, also for a removed document; rejects with `not_found`
 * when it never existed.
 */
export async function readDocumentHistory(
  ports: HistoryPorts & { documentStore: DocumentStore },
  name: DocumentName,
  request: PageRequest,
): Promise<Page<DocumentVersion>> {
  const page = await readEventPage(ports.eventLog, streamOf(name), request);
  const events = page.events.map(upcast);
  if (events.length === 0 && request.pageToken === undefined) throw notFound('Document');
  const available = await stillStored(ports.documentStore, events.flatMap(objectOf));
  const entries = await toEntries(ports, events);
  const items = events.map((event, at) => toVersion(entries[at] as VersionEntry, event, available));
  return { items, next_page_token: page.next_page_token };
}

/**
 * Resolves with a document as it was at a moment, without its bytes; rejects with `not_found` when it did not exist
 * or was removed.
 */
export async function readDocumentAt(
  eventLog: EventLog,
  name: DocumentName,
  moment: Moment,
): Promise<PresentDocument> {
  const state: DocumentState = await stateAt(eventLog, streamOf(name), 'Document', evolveDocument, moment);
  if (state.removed)
    throw new ServiceError('not_found', `The document was removed in version ${state.version}.`);
  return state;
}

/** Resolves with the bytes of a document at a moment; rejects with `not_found` also when they were not kept. */
export async function readContentAt(
  { eventLog, documentStore }: { eventLog: EventLog; documentStore: DocumentStore },
  name: DocumentName,
  moment: Moment,
  wantedPart: WantedPart = () => undefined,
): Promise<DocumentContent> {
  const { document, version } = await readDocumentAt(eventLog, name, moment);
  const range = wantedPart(document, version);
  return { document, version, range, content: await readContent(documentStore, document, range) };
}

function streamOf({ workspace, encounterId, documentId }: DocumentName): string {
  return documentStream(workspace, encounterId, documentId);
}

function objectOf(event: RecordedEvent): string[] {
  return event.type === 'DocumentUploaded' ? [uploadedBy(event).object_id] : [];
}

/** Resolves with those of these objects that the store still has. */
async function stillStored(store: DocumentStore, objectIds: string[]): Promise<Set<string>> {
  const found = new Set<string>();
  for (let at = 0; at < objectIds.length; at += ASKED_AT_ONCE) {
    await Promise.all(
      objectIds.slice(at, at + ASKED_AT_ONCE).map(async (objectId) => {
        if (await store.has(objectId)) found.add(objectId);
      }),
    );
  }
  return found;
}

function toVersion(entry: VersionEntry, event: RecordedEvent, available: Set<string>): DocumentVersion {
  if (event.type !== 'DocumentUploaded') {
    const nothing = { category: null, filename: null, content_type: null, size: null, sha256: null };
    return { ...entry, type: event.type as DocumentEventType, ...nothing, content_available: false };
  }
  const { category, filename, format, size, sha256, object_id } = uploadedBy(event);
  const content_type = documentFormats[format];
  const content_available = available.has(object_id);
  return {
    ...entry,
    type: 'DocumentUploaded',
    category,
    filename,
    content_type,
    size,
    sha256,
    content_available,
  };
}

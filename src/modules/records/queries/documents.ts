import { createHash } from 'node:crypto';
import { pipeline, type Readable, Transform, type TransformCallback } from 'node:stream';
import { bodyOf, type Incomplete } from '../../../../projections/projection.ts';
import { documentPartitions, documentsModel } from '../../../../projections/records.ts';
import type { RecordedEvent } from '../../../domain/events/event.ts';
import { erasureStep } from '../../../domain/events/payloads.ts';
import { documentIdsOf, documentStream, recordStream } from '../../../domain/events/streams.ts';
import { upcast } from '../../../domain/events/upcasting.ts';
import {
  type DocumentEventType,
  type DocumentState,
  type DocumentUploaded,
  type DocumentView,
  documentFormats,
  evolveDocument,
  type PresentDocument,
  uploadedBy,
  viewDocument,
} from '../../../domain/records/document.ts';
import { encounter } from '../../../domain/records/kinds/encounter.ts';
import { gone, notFound, ServiceError, UnreadableError } from '../../../platform/errors.ts';
import { measurements } from '../../../platform/metrics/metrics.ts';
import type { ByteRange, DocumentStore } from '../../../storage/documentStore.ts';
import type { EventLog } from '../../../storage/eventLog.ts';
import type { Row } from '../../../storage/readModels.ts';
import {
  type HistoryPorts,
  type Moment,
  readEventPage,
  stateAt,
  toEntries,
  type VersionEntry,
  type VersionPorts,
} from './history.ts';
import { allRows, caughtUp, type ListPage, type Page, type PageRequest, readListPage } from './paging.ts';
import { foldStream, type QueryPorts } from './records.ts';

/** The bytes that the store holds under an object's name are not those that were uploaded. */
export class DocumentMismatch extends ServiceError {
  readonly objectId: string;

  constructor(objectId: string) {
    super('internal', 'The stored document is not the one that was uploaded.');
    this.name = 'DocumentMismatch';
    this.objectId = objectId;
  }
}

type Expected = Pick<DocumentUploaded, 'object_id' | 'size' | 'sha256'>;

/**
 * Passes on a document's bytes from the store, hashing them on the way. When they are not those that were uploaded,
 * it fails with `DocumentMismatch` before the last of them, so that nobody receives the whole document.
 */
export function checkedContent(content: Readable, expected: Expected): Readable {
  return pipeline(content, new DigestCheck(expected), () => undefined);
}

/**
 * Passes on a part of a document's bytes from the store. Fails with `DocumentMismatch` at its end when it is not as long as
 * it should be: what is sent after it on the same connection would be taken for the rest.
 */
function checkedPart(content: Readable, expected: Expected, { start, end }: ByteRange): Readable {
  let missing = end - start + 1;
  const check = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      missing -= chunk.length;
      done(null, chunk);
    },
    flush: (done) => done(missing === 0 ? null : new DocumentMismatch(expected.object_id)),
  });
  return pipeline(content, check, () => undefined);
}

class DigestCheck extends Transform {
  readonly #expected: Expected;
  readonly #hash = createHash('sha256');
  #size = 0;
  /** Passed on when the next chunk arrives, or at the end when all is well. */
  #held: Buffer | undefined;

  constructor(expected: Expected) {
    super();
    this.#expected = expected;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#hash.update(chunk);
    this.#size += chunk.length;
    const passed = this.#held;
    this.#held = chunk;
    if (this.#size > this.#expected.size) done(new DocumentMismatch(this.#expected.object_id));
    else done(null, passed);
  }

  override _flush(done: TransformCallback): void {
    const { object_id, size, sha256 } = this.#expected;
    if (this.#size === size && this.#hash.digest('hex') === sha256) done(null, this.#held);
    else done(new DocumentMismatch(object_id));
  }
}

/** Resolves with a page of an encounter's documents, without removed ones. */
export async function listDocuments(
  ports: QueryPorts,
  workspace: string,
  encounterId: string,
  request: PageRequest,
): Promise<ListPage<DocumentView>> {
  const partition = recordStream(workspace, 'encounter', encounterId);
  const { page } = await readListPage(ports, documentsModel, partition, request, {
    fromBody: (state) => viewDocument(state as PresentDocument),
    async fromLog(stream) {
      const state = await foldStream(ports.eventLog, stream, evolveDocument);
      return state && !state.removed ? viewDocument(state) : undefined;
    },
    idOf: (stream) => documentIdsOf(stream).documentId,
  });
  return page;
}

const sent = measurements.counter('chartledger.document.io', { 'network.io.direction': 'transmit' });

/**
 * Resolves with the bytes that an upload left in the store, hashed on the way (`checkedContent`); of a part of them, only the
 * length can be checked. Rejects with `not_found` when they were not kept.
 */
export async function readContent(
  store: DocumentStore,
  document: DocumentUploaded,
  range?: ByteRange,
): Promise<Readable> {
  const content = await store.get(document.object_id, range);
  content.once('end', () => sent.add(range ? range.end - range.start + 1 : document.size));
  return range ? checkedPart(content, document, range) : checkedContent(content, document);
}

/**
 * Resolves with a document's latest version; rejects with `not_found` when there is none or it was removed, with `gone` when it
 * was erased.
 */
export async function findDocument(
  eventLog: EventLog,
  name: DocumentName,
): Promise<Pick<PresentDocument, 'document' | 'version'>> {
  const [last] = await eventLog.readStream(streamOf(name), { direction: 'backwards', limit: 1 });
  if (last && erasureStep(last) === 'done') throw gone('Document', last.recordedAt);
  if (last?.type !== 'DocumentUploaded') throw notFound('Document');
  return { document: uploadedBy(last), version: last.revision + 1 };
}

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
  ports: VersionPorts & { documentStore: DocumentStore },
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
  const state: DocumentState = await stateAt(eventLog, streamOf(name), 'Document', moment, (range) =>
    foldStream(eventLog, streamOf(name), evolveDocument, range),
  );
  if (state.removed)
    throw new ServiceError('not_found', `The document was removed in version ${state.version}.`);
  return state;
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

const READ_AT_ONCE = 16;

type DocumentRow = Row<DocumentState | Incomplete>;

/** A document in a list: a present or a removed one. */
export interface ListedDocument
  extends Pick<DocumentView, 'document_id' | 'category' | 'filename' | 'size' | 'version' | 'updated_at'> {
  encounter_id: string;
  /** For a document removed at `updated_at`: by whom. */
  removed_by?: VersionEntry['principal'];
}

export interface LatestDocuments {
  items: ListedDocument[];
  /** Whether these are all. */
  isWhole: boolean;
  /** The caller's ids of what is left out because an event in its history cannot be read by this process. */
  unreadable: string[];
}

/**
 * Resolves with the documents of encounters that changed last, as of every write acknowledged before the call:
 * including removed ones, but not erased ones. `partitionsOf` names the partitions of an encounter's documents, by
 * its stream. Rejects with `unavailable`.
 */
export async function latestDocuments(
  ports: QueryPorts & HistoryPorts,
  workspace: string,
  encounterIds: readonly string[],
  limit: number,
  partitionsOf: (encounter: string) => string[] = documentPartitions,
): Promise<LatestDocuments> {
  const rows = await documentRows(ports, workspace, encounterIds, partitionsOf);
  const latest = rows.toSorted((a, b) => b.position - a.position).slice(0, limit);
  const unreadable: string[] = [];
  const listed = await Promise.all(
    latest.map(async (row) => {
      try {
        return await toListed(ports, row);
      } catch (error) {
        if (!(error instanceof UnreadableError)) throw error;
        unreadable.push(documentIdsOf(row.id).documentId);
        return undefined;
      }
    }),
  );
  const items = listed.filter((one) => one !== undefined);
  return { items, isWhole: rows.length <= limit, unreadable };
}

/**
 * Resolves with the rows of encounters' documents, in no particular order, as of every write acknowledged before the
 * call. Rejects with `unavailable`.
 */
export async function documentRows(
  ports: QueryPorts,
  workspace: string,
  encounterIds: readonly string[],
  partitionsOf: (encounter: string) => string[] = documentPartitions,
): Promise<DocumentRow[]> {
  const rows: DocumentRow[] = [];
  if (encounterIds.length > 0) await caughtUp(ports, documentsModel);
  for (let at = 0; at < encounterIds.length; at += READ_AT_ONCE) {
    const partitions = encounterIds
      .slice(at, at + READ_AT_ONCE)
      .flatMap((id) => partitionsOf(recordStream(workspace, encounter.kind, id)));
    const reading = partitions.map((one) => Array.fromAsync(allRows(ports.readModels, documentsModel, one)));
    rows.push(...(await Promise.all(reading)).flat());
  }
  return rows;
}

/** Resolves with nothing when it has been erased meanwhile. Rejects with `unreadable`. */
async function toListed(ports: HistoryPorts, row: DocumentRow): Promise<ListedDocument | undefined> {
  const state = bodyOf(row) ?? (await foldStream(ports.eventLog, row.id, evolveDocument));
  if (state?.document === undefined) return undefined;
  const { document_id, category, filename, size } = state.document;
  const { encounterId: encounter_id } = documentIdsOf(row.id);
  const { version, updatedAt: updated_at } = state;
  const listed = { document_id, category, filename, size, version, updated_at, encounter_id };
  if (!state.removed) return listed;
  const [last] = await ports.eventLog.readStream(row.id, { direction: 'backwards', limit: 1 });
  if (last === undefined || erasureStep(last) === 'done') return undefined;
  const [entry] = await toEntries(ports, [last]);
  return entry && { ...listed, removed_by: entry.principal };
}

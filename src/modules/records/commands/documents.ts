import { randomUUID } from 'node:crypto';
import { pipeline, Readable, Transform, type TransformCallback } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type Entry, fromRandomAccessReaderPromise, RandomAccessReader, type ZipFile } from 'yauzl';
import { z } from 'zod';
import type { RecordedEvent } from '../../../domain/events/event.ts';
import { type Caller, newEvent } from '../../../domain/events/newEvent.ts';
import { erasureStep } from '../../../domain/events/payloads.ts';
import { documentStream, recordStream } from '../../../domain/events/streams.ts';
import { upcast } from '../../../domain/events/upcasting.ts';
import {
  type DocumentFormat,
  type DocumentRemoved,
  type DocumentUploaded,
  documentFieldsSchema,
  MAX_FILENAME_LENGTH,
  uploadedBy,
} from '../../../domain/records/document.ts';
import { validate } from '../../../domain/records/schema/validation.ts';
import { notFound, ServiceError, UnreadableError, unavailable } from '../../../platform/errors.ts';
import { measurements } from '../../../platform/metrics/metrics.ts';
import { isUnavailable } from '../../../platform/retry.ts';
import type { DocumentStore, StoredDocument } from '../../../storage/documentStore.ts';
import { appendBehind, type EventLog } from '../../../storage/eventLog.ts';
import { findPreviousAppend } from '../../idempotency/keys.ts';
import type { RecordExistence } from './references.ts';
import { appendToDocument, requireDocument, type WriteCondition } from './upsert.ts';

/** The bytes from `start` up to, but not including, `end`. */
type ReadRange = (start: number, end: number) => Promise<Readable>;

/** The central directory, which ends a ZIP file, is read in blocks of this size; most have one. */
const BLOCK_BYTES = 256 * 1024;
/** Most that is read of a central directory: a document with thousands of pictures has fewer entries and bytes. */
const MAX_ENTRIES = 10_000;
const MAX_DIRECTORY_BYTES = 4 * 1024 * 1024;
const CONTENT_TYPES = '[Content_Types].xml';
/** Real ones have a few kilobytes, even in documents with thousands of parts. */
const MAX_CONTENT_TYPES_BYTES = 4 * 1024 * 1024;
/** Declared content type of a document's main part (ECMA-376 part 1, 11.3.10); documents with macros have a different one. */
const MAIN_PART = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml';

/**
 * Whether a file of that size is a DOCX: a ZIP file whose list of content types declares a Word document, wherever its entries
 * are in the file; one with more than 10,000 entries is none. Reads only the file's end and that list. Rejects as `read` does,
 * and with the reason of `signal` once that is aborted.
 */
async function isDocx(size: number, read: ReadRange, signal?: AbortSignal): Promise<boolean> {
  const reader = new RangeReader(size, read, signal);
  try {
    const zip = await fromRandomAccessReaderPromise(reader, size, { lazyEntries: true, autoClose: false });
    if (zip.entryCount > MAX_ENTRIES) return false;
    const entry = await findContentTypes(zip);
    if (entry === undefined || entry.uncompressedSize > MAX_CONTENT_TYPES_BYTES) return false;
    return (await text(await zip.openReadStreamPromise(entry))).includes(MAIN_PART);
  } catch {
    // Otherwise the parser reports a file that is not a ZIP file, or a damaged one.
    if (reader.failure !== undefined) throw reader.failure;
    return false;
  }
}

async function findContentTypes(zip: ZipFile): Promise<Entry | undefined> {
  for await (const entry of zip.eachEntry()) {
    if (entry.fileName === CONTENT_TYPES) return entry;
  }
  return undefined;
}

class RangeReader extends RandomAccessReader {
  readonly #size: number;
  readonly #read: ReadRange;
  readonly #signal: AbortSignal | undefined;
  #block: { start: number; bytes: Buffer };
  #bytesRead = 0;
  /** The store's error when it could not be read, or why reading was ended. */
  failure: unknown;

  constructor(size: number, read: ReadRange, signal: AbortSignal | undefined) {
    super();
    this.#size = size;
    this.#read = read;
    this.#signal = signal;
    this.#block = { start: size, bytes: Buffer.alloc(0) };
  }

  /** Called for the end of the file and, one by one, for the entries of its central directory. */
  override read(
    target: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null) => void,
  ): void {
    const copy = () => {
      const start = position - this.#block.start;
      this.#block.bytes.copy(target, offset, start, start + length);
    };
    if (this.#has(position, length) && !this.#signal?.aborted) {
      copy();
      setImmediate(callback, null);
      return;
    }
    this.#load(position, length).then(
      () => {
        copy();
        callback(null);
      },
      (error) => callback(error),
    );
  }

  override _readStreamForRange(start: number, end: number): Readable {
    return Readable.from(this.#chunks(start, end), { objectMode: false });
  }

  #has(position: number, length: number): boolean {
    const { start, bytes } = this.#block;
    return position >= start && position + length <= start + bytes.length;
  }

  /** Loads the block that begins with a range, or the last one of the file. */
  async #load(position: number, length: number): Promise<void> {
    const start = Math.max(0, Math.min(position, this.#size - BLOCK_BYTES));
    const end = Math.min(this.#size, Math.max(start + BLOCK_BYTES, position + length));
    this.#bytesRead += end - start;
    if (this.#bytesRead > MAX_DIRECTORY_BYTES) throw new Error('the central directory is too long');
    const parts = await Array.fromAsync(this.#chunks(start, end));
    this.#block = { start, bytes: Buffer.concat(parts) };
    if (!this.#has(position, length)) throw new Error('the file is shorter than it was');
  }

  async *#chunks(start: number, end: number): AsyncGenerator<Buffer> {
    try {
      this.#signal?.throwIfAborted();
      yield* await this.#read(start, end);
    } catch (error) {
      this.failure = error;
      throw error;
    }
  }
}

/** Readers accept a PDF whose header is within its first 1,024 bytes (ISO 32000-1, annex H, note 13). */
const PDF_HEADER_WITHIN = 1024;
const PDF_HEADER = '%PDF-';
const HEAD_BYTES = PDF_HEADER_WITHIN + PDF_HEADER.length;

/** Passes a file's bytes through and keeps the first ones, by which a PDF is recognized. */
export class FileHead extends Transform {
  #bytes = Buffer.alloc(0);

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const missing = HEAD_BYTES - this.#bytes.length;
    if (missing > 0) this.#bytes = Buffer.concat([this.#bytes, chunk.subarray(0, missing)]);
    done(null, chunk);
  }

  /** Whether the bytes passed are those of a PDF. */
  get isPdf(): boolean {
    return this.#bytes.includes(PDF_HEADER);
  }
}

/**
 * Returns the format of a stored file by its name and content; undefined when the two do not agree on PDF or DOCX (spec section
 * 8). Rejects as `read` does, and with the reason of `signal` once that is aborted.
 */
export async function documentFormat(
  filename: string,
  head: FileHead,
  size: number,
  read: ReadRange,
  signal?: AbortSignal,
): Promise<DocumentFormat | undefined> {
  const extension = /\.(pdf|docx)$/i.exec(filename)?.[1]?.toLowerCase();
  if (extension === 'pdf') return head.isPdf ? 'pdf' : undefined;
  if (extension === 'docx') return (await isDocx(size, read, signal)) ? 'docx' : undefined;
  return undefined;
}

/** Appends the removal of a document; rejects with `not_found` when the encounter has none with that id (spec 4.7). */
export async function removeDocument(
  eventLog: EventLog,
  caller: Caller,
  encounterId: string,
  documentId: string,
  condition: WriteCondition,
): Promise<void> {
  const stream = documentStream(caller.workspace, encounterId, documentId);
  if (await findPreviousAppend(eventLog, stream, caller)) return;
  const data: DocumentRemoved = { encounter_id: encounterId, document_id: documentId };
  for (;;) {
    const [last] = await eventLog.readStream(stream, { direction: 'backwards', limit: 1 });
    if (last?.type !== 'DocumentUploaded') throw notFound('Document');
    requireDocument(condition, last);
    // If someone uploaded or removed it in the meantime, decide again on the current state.
    if (await appendBehind(eventLog, stream, newEvent(caller, 'DocumentRemoved', { ...data }), last.revision))
      return;
  }
}

export interface DocumentPorts {
  eventLog: EventLog;
  documentStore: DocumentStore;
  existence: RecordExistence;
}

/** An uploaded file, once its bytes are in the store. */
export interface ReceivedFile extends StoredDocument {
  objectId: string;
  filename: string;
  /** Undefined unless the file is a PDF or DOCX by both name and content. */
  format: DocumentFormat | undefined;
}

/** The error message for a file of another format. */
export const UNKNOWN_FORMAT = 'must be a PDF (.pdf) or DOCX (.docx), by both its name and its content';

const uploadSchema = documentFieldsSchema.extend({
  file: z
    .custom<ReceivedFile>((file) => file !== undefined, { error: 'is required', abort: true })
    .refine(({ format }) => format !== undefined, { error: UNKNOWN_FORMAT })
    .refine(({ filename }) => [...filename].length <= MAX_FILENAME_LENGTH, {
      error: `must have a name of at most ${MAX_FILENAME_LENGTH} characters`,
    }),
});

/** Rejects with `not_found` when the encounter does not exist (spec 4.6). */
export async function requireEncounter(
  existence: RecordExistence,
  workspace: string,
  encounterId: string,
): Promise<void> {
  const missing = await existence.missing([recordStream(workspace, 'encounter', encounterId)]);
  if (missing.size > 0) throw notFound('Encounter');
}

const received = measurements.counter('chartledger.document.io', { 'network.io.direction': 'receive' });

/** Writes the bytes of a file to the store, in bounded memory; a failing source, or an aborted `signal`, leaves nothing behind. */
export async function receiveFile(
  store: DocumentStore,
  filename: string,
  source: Readable,
  signal?: AbortSignal,
): Promise<ReceivedFile> {
  const objectId = randomUUID();
  const head = new FileHead();
  // An error of either ends both, and reaches the store through the stream it reads.
  pipeline(source, head, () => undefined);
  const stored = await store.put(objectId, head);
  received.add(stored.size);
  const read = (start: number, end: number) => store.get(objectId, { start, end: end - 1 });
  try {
    const format = await documentFormat(filename, head, stored.size, read, signal);
    return { ...stored, objectId, filename, format };
  } catch (error) {
    await discardLater(store, objectId);
    throw error;
  }
}

/**
 * Appends the event of an upload whose file was received, replacing a document with that id on the encounter. On rejection the
 * file is discarded, except after an append that ended with `unavailable`: the event may then be in the log, and the upload is
 * settled at the service's next start.
 */
export async function uploadDocument(
  { eventLog, documentStore }: Omit<DocumentPorts, 'existence'>,
  caller: Caller,
  encounterId: string,
  { fields, file }: { fields: Record<string, string>; file: ReceivedFile | undefined },
  condition: WriteCondition,
): Promise<{ documentId: string; version: number }> {
  let isSent = false;
  const sending: Pick<EventLog, 'append' | 'readStream'> = {
    readStream: (...read) => eventLog.readStream(...read),
    append(...append) {
      isSent = true;
      return eventLog.append(...append);
    },
  };
  try {
    const event = decideUpload(encounterId, fields, file);
    const stream = documentStream(caller.workspace, encounterId, event.document_id);
    const earlier = await findPreviousAppend(eventLog, stream, caller);
    if (earlier) {
      const revision = await repeatUpload({ eventLog: sending, documentStore }, caller, event, earlier);
      return { documentId: event.document_id, version: revision + 1 };
    }
    await documentStore.claim(event.object_id, stream);
    await requireNotErased(eventLog, recordStream(caller.workspace, 'encounter', encounterId));
    const uploaded = newEvent(caller, 'DocumentUploaded', { ...event });
    const { revision } = await appendToDocument(sending, stream, uploaded, condition);
    if (await isNamedBy(eventLog, stream, revision, event.object_id, caller)) {
      await confirmUpload(documentStore, event.object_id);
    } else await discardLater(documentStore, event.object_id);
    return { documentId: event.document_id, version: revision + 1 };
  } catch (error) {
    const isUncertain = isSent && isUnavailable(error);
    if (file && !isUncertain) await documentStore.discard(file.objectId);
    throw error;
  }
}

/**
 * Returns the revision of an upload whose event an earlier try appended. If the file of that try was lost with its process (see
 * `confirmUpload`), it is stored now, by one more event, unless something else has followed.
 */
async function repeatUpload(
  { eventLog, documentStore }: { eventLog: Pick<EventLog, 'append'>; documentStore: DocumentStore },
  caller: Caller,
  event: DocumentUploaded,
  earlier: RecordedEvent,
): Promise<number> {
  const { stream, revision } = earlier;
  if (!(await documentStore.has(uploadedBy(earlier).object_id))) {
    await documentStore.claim(event.object_id, stream);
    const uploaded = newEvent({ ...caller, earlier: undefined }, 'DocumentUploaded', { ...event });
    const appended = await appendBehind(eventLog, stream, uploaded, revision);
    if (appended) {
      await confirmUpload(documentStore, event.object_id);
      return appended.revision;
    }
  }
  await discardLater(documentStore, event.object_id);
  return revision;
}

/**
 * Whether an upload's event names that file, rather than the one of an earlier, abandoned try whose append came in between; takes
 * no read when there was no such try.
 */
async function isNamedBy(
  eventLog: EventLog,
  stream: string,
  revision: number,
  objectId: string,
  { earlier }: Caller,
): Promise<boolean> {
  if (earlier === undefined) return true;
  const [event] = await eventLog.readStream(stream, { from: revision, limit: 1 });
  return event?.data.object_id === objectId;
}

/** What cannot be removed now is later found as abandoned. */
async function discardLater(store: DocumentStore, objectId: string): Promise<void> {
  await store.discard(objectId).catch(() => undefined);
}

/** Rejects with `not_found` when an encounter was erased, for example during an upload, which may take an hour. */
async function requireNotErased(eventLog: EventLog, encounter: string): Promise<void> {
  const [last] = await eventLog.readStream(encounter, { direction: 'backwards', limit: 1 });
  if (last && erasureStep(last) === 'done') throw notFound('Encounter');
}

/**
 * The event is durable, so the upload stands, and what a failing store leaves undone is settled later; unless the bytes are gone
 * because this process was stalled for so long that another presumed it dead.
 */
async function confirmUpload(store: DocumentStore, objectId: string): Promise<void> {
  await store.confirm(objectId).catch((error) => {
    if (error instanceof ServiceError && error.code === 'not_found') {
      throw unavailable('document store', error);
    }
  });
}

function decideUpload(
  encounterId: string,
  fields: Record<string, string>,
  received: ReceivedFile | undefined,
): DocumentUploaded {
  const { document_id, category, file } = validate(uploadSchema, { ...fields, file: received });
  const { size, sha256, objectId, filename, format } = file;
  return {
    encounter_id: encounterId,
    document_id,
    category,
    filename,
    format: format as DocumentFormat,
    size,
    sha256,
    object_id: objectId,
  };
}

/**
 * Settles the uploads left half done by dead processes: keeps those named in the log, or by a stored message with that id, and
 * discards the others.
 */
export async function settleAbandonedUploads(
  eventLog: EventLog,
  store: DocumentStore,
  messages: { has(id: string): Promise<boolean> },
): Promise<void> {
  for (const { objectId, stream } of await store.abandoned()) {
    const named =
      stream === undefined ? await messages.has(objectId) : await namesObject(eventLog, stream, objectId);
    if (named === undefined) continue;
    await (named ? store.confirm(objectId) : store.discard(objectId));
  }
}

/** Returns undefined when an event cannot be read: a newer version of the service may be able to, and settles the upload. */
async function namesObject(
  eventLog: EventLog,
  stream: string,
  objectId: string,
): Promise<boolean | undefined> {
  try {
    const events = await eventLog.readStream(stream, { direction: 'backwards', limit: 1000 });
    return events.some((event) => upcast(event).data.object_id === objectId);
  } catch (error) {
    if (error instanceof UnreadableError) return undefined;
    throw error;
  }
}

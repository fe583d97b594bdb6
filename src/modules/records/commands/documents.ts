import { randomUUID } from 'node:crypto';
import { pipeline, type Readable } from 'node:stream';
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
import { unknownFields } from '../../../domain/records/fold.ts';
import { validate } from '../../../domain/records/schema/validation.ts';
import {
  type FieldMessage,
  notFound,
  ServiceError,
  UnreadableError,
  unavailable,
} from '../../../platform/errors.ts';
import { measurements } from '../../../platform/metrics/metrics.ts';
import { isUnavailable } from '../../../platform/retry.ts';
import type { DocumentStore, StoredDocument } from '../../../storage/documentStore.ts';
import { appendBehind, type EventLog } from '../../../storage/eventLog.ts';
import { findPreviousAppend } from '../../idempotency/keys.ts';
import { FileHead, formatMessage, type RecognizedFormat, recognizeFormat } from './documentFormat.ts';
import type { RecordExistence } from './references.ts';
import { appendToDocument, requireDocument, type WriteCondition } from './upsert.ts';

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
  recognized: RecognizedFormat;
}

const uploadSchema = documentFieldsSchema.extend({
  file: z
    .custom<ReceivedFile>((file) => file !== undefined, { error: 'is required', abort: true })
    .superRefine(({ recognized }, context) => {
      if ('defect' in recognized)
        context.addIssue({ code: 'custom', message: formatMessage(recognized.defect) });
    })
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
    const recognized = await recognizeFormat(filename, head, { size: stored.size, read, signal });
    return { ...stored, objectId, filename, recognized };
  } catch (error) {
    await discardLater(store, objectId);
    throw error;
  }
}

/** What an upload did, and the fields of its form that were ignored. */
interface UploadOutcome {
  documentId: string;
  version: number;
  warnings: FieldMessage[];
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
): Promise<UploadOutcome> {
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
    const outcome = (revision: number): UploadOutcome => ({
      documentId: event.document_id,
      version: revision + 1,
      warnings: unknownFields(fields, documentFieldsSchema.shape, ''),
    });
    const stream = documentStream(caller.workspace, encounterId, event.document_id);
    const earlier = await findPreviousAppend(eventLog, stream, caller);
    if (earlier) {
      return outcome(await repeatUpload({ eventLog: sending, documentStore }, caller, event, earlier));
    }
    await documentStore.claim(event.object_id, stream);
    await requireNotErased(eventLog, recordStream(caller.workspace, 'encounter', encounterId));
    const uploaded = newEvent(caller, 'DocumentUploaded', { ...event });
    const { revision } = await appendToDocument(sending, stream, uploaded, condition);
    if (await isNamedBy(eventLog, stream, revision, event.object_id, caller)) {
      await confirmUpload(documentStore, event.object_id);
    } else await discardLater(documentStore, event.object_id);
    return outcome(revision);
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
  const { size, sha256, objectId, filename, recognized } = file;
  return {
    encounter_id: encounterId,
    document_id,
    category,
    filename,
    format: (recognized as { format: DocumentFormat }).format,
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

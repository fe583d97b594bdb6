import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { ServiceError } from '../errors.ts';
import type { DocumentStore, StoredDocument } from '../ports/documentStore.ts';
import type { EventLog } from '../ports/eventLog.ts';
import {
  type DocumentFormat,
  type DocumentUploaded,
  documentFieldsSchema,
  MAX_DOCUMENT_BYTES,
} from '../records/document.ts';
import { documentStream, recordStream } from '../records/streamNames.ts';
import { validate, validationError } from '../records/validate.ts';
import { type Caller, newEvent } from './caller.ts';
import { detectFormat, sample } from './documentFile.ts';
import type { RecordExistence } from './RecordExistence.ts';

export interface DocumentPorts {
  eventLog: EventLog;
  documentStore: DocumentStore;
  existence: RecordExistence;
}

/** The file of an upload, once its bytes are in the store. */
export interface ReceivedFile extends StoredDocument {
  objectId: string;
  filename: string;
  /** Undefined when the file is neither PDF nor DOCX by both name and content. */
  format: DocumentFormat | undefined;
}

/** Rejects with `not_found` when the encounter does not exist (spec 4.6). */
export async function requireEncounter(
  existence: RecordExistence,
  workspace: string,
  encounterId: string,
): Promise<void> {
  const missing = await existence.missing([recordStream(workspace, 'encounter', encounterId)]);
  if (missing.size > 0) throw new ServiceError('not_found', 'Encounter not found.');
}

/** Takes the bytes of a file to the store, in bounded memory; a source that fails leaves nothing behind. */
export async function receiveFile(
  store: DocumentStore,
  filename: string,
  source: Readable,
): Promise<ReceivedFile> {
  const { head, whole } = await sample(source);
  const format = await detectFormat(filename, head);
  const objectId = randomUUID();
  const stored = await store.put(objectId, whole);
  return { ...stored, objectId, filename, format };
}

/**
 * Appends the event of an upload whose file was received; a document of that id on the encounter is replaced. When it
 * rejects the file is discarded, except after `unavailable`: the event may then be in the log, and the upload is
 * settled when the service starts again.
 */
export async function uploadDocument(
  { eventLog, documentStore }: DocumentPorts,
  caller: Caller,
  encounterId: string,
  fields: unknown,
  file: ReceivedFile | undefined,
): Promise<{ documentId: string; version: number }> {
  try {
    const event = decideUpload(encounterId, fields, file);
    const stream = documentStream(caller.workspace, encounterId, event.document_id);
    await documentStore.claim(event.object_id, stream);
    const { revision } = await eventLog.append(
      stream,
      newEvent(caller, 'DocumentUploaded', { ...event }),
      'any',
    );
    await documentStore.confirm(event.object_id);
    return { documentId: event.document_id, version: revision + 1 };
  } catch (error) {
    const uncertain = error instanceof ServiceError && error.code === 'unavailable';
    if (file && !uncertain) await documentStore.discard(file.objectId);
    throw error;
  }
}

function decideUpload(
  encounterId: string,
  fields: unknown,
  file: ReceivedFile | undefined,
): DocumentUploaded {
  const { document_id, category } = validate(documentFieldsSchema, fields);
  if (file === undefined) throw validationError([{ field: 'file', message: 'is required' }]);
  const { size, sha256, objectId, filename, format } = file;
  if (size > MAX_DOCUMENT_BYTES)
    throw new ServiceError('payload_too_large', 'The file is larger than 250 MB.');
  if (format === undefined) {
    const message = 'must be a PDF (.pdf) or DOCX (.docx), by its name and by its content';
    throw validationError([{ field: 'file', message }]);
  }
  return {
    encounter_id: encounterId,
    document_id,
    category,
    filename,
    format,
    size,
    sha256,
    object_id: objectId,
  };
}

/** Settles the uploads that a process that died left half done: kept when the log names them, else discarded. */
export async function settleAbandonedUploads(eventLog: EventLog, store: DocumentStore): Promise<void> {
  for (const { objectId, stream } of await store.abandoned()) {
    const events =
      stream === undefined ? [] : await eventLog.readStream(stream, { direction: 'backwards', limit: 1000 });
    const named = events.some(({ data }) => data.object_id === objectId);
    await (named ? store.confirm(objectId) : store.discard(objectId));
  }
}

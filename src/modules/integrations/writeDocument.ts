import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../../domain/events/newEvent.ts';
import { documentStream } from '../../domain/events/streamNames.ts';
import { documentFieldsSchema } from '../../domain/records/document.ts';
import { validate, validationError } from '../../domain/records/schema/validate.ts';
import { documentFormat, FileHead } from '../records/commands/documentFormat.ts';
import {
  receiveFile,
  requireEncounter,
  UNKNOWN_FORMAT,
  uploadDocument,
} from '../records/commands/uploadDocument.ts';
import type { IngestPorts, OperationResult } from './carryOut.ts';
import type { DocumentOperation } from './operation.ts';

/**
 * Uploads a document from a message, unless the last one with its id has the same bytes, name and category. Rejects
 * with `validation_failed`, `not_found` where there is no such encounter, and `unavailable`.
 */
export async function writeDocument(
  ports: IngestPorts,
  caller: Caller,
  document: DocumentOperation,
  { dryRun, isForeseen }: { dryRun: boolean; isForeseen: boolean },
): Promise<OperationResult> {
  const { encounterId, documentId, category, fileName, bytes } = document;
  const fields = { document_id: documentId, category };
  if (!isForeseen) await requireEncounter(ports.existence, caller.workspace, encounterId);
  await requireAcceptable(document, fields);
  const stream = documentStream(caller.workspace, encounterId, documentId);
  const [last] = await ports.eventLog.readStream(stream, { direction: 'backwards', limit: 1 });
  const version = last === undefined ? 0 : last.revision + 1;
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const { data } = last ?? {};
  const isSame = data?.sha256 === sha256 && data.filename === fileName && data.category === category;
  // The file of an upload that was not acknowledged may be lost.
  if (isSame && (await ports.documentStore.has(String(data.object_id)))) {
    return { outcome: 'unchanged', version, warnings: [] };
  }
  const outcome = last?.type === 'DocumentUploaded' ? 'updated' : 'created';
  if (dryRun) return { outcome, version: version + 1, warnings: [] };
  const file = await receiveFile(ports.documentStore, fileName, Readable.from([bytes]));
  // One of several events of a request, each with an id of its own.
  const own = { ...caller, earlier: { eventId: uuidv7(), appended: false } };
  const uploaded = await uploadDocument(ports, own, encounterId, { fields, file }, 'any');
  return { outcome, version: uploaded.version, warnings: [] };
}

/** Checked before any byte of it goes to the store. Rejects with `validation_failed`. */
async function requireAcceptable({ fileName, bytes }: DocumentOperation, fields: object): Promise<void> {
  validate(documentFieldsSchema, fields);
  const head = new FileHead();
  head.end(bytes);
  await head.resume().toArray();
  const read = async (start: number, end: number) => Readable.from([bytes.subarray(start, end)]);
  const format = await documentFormat(fileName, head, bytes.length, read);
  if (format === undefined) throw validationError([{ field: 'file', message: UNKNOWN_FORMAT }]);
}

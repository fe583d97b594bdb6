import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../../domain/events/newEvent.ts';
import { documentStream, kindPartition, recordIdOf, recordStream } from '../../domain/events/streams.ts';
import { documentFieldsSchema } from '../../domain/records/document.ts';
import type { RecordState } from '../../domain/records/fold.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import { validate, validationError } from '../../domain/records/schema/validation.ts';
import type { ServiceError } from '../../platform/errors.ts';
import type { DocumentStore } from '../../storage/documentStore.ts';
import { FileHead, formatMessage, recognizeFormat } from '../records/commands/documentFormat.ts';
import {
  receiveFile,
  removeDocument,
  requireEncounter,
  uploadDocument,
} from '../records/commands/documents.ts';
import { referencesNotFound } from '../records/commands/references.ts';
import { patchRecord, upsertRecord, type WritePorts, type Written } from '../records/commands/upsert.ts';
import { readRecordsPage } from '../records/queries/lists.ts';
import { currentState } from '../records/queries/records.ts';
import type {
  DocumentOperation,
  MergeOperation,
  OperationResult,
  RemovalOperation,
  VoidAllOperation,
} from './operations.ts';

export interface IngestPorts extends WritePorts {
  documentStore: DocumentStore;
}

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
  const uploaded = await uploadDocument(ports, ownEvent(caller), encounterId, { fields, file }, 'any');
  return { outcome, version: uploaded.version, warnings: [] };
}

/** Checked before any byte of it goes to the store. Rejects with `validation_failed`. */
async function requireAcceptable({ fileName, bytes }: DocumentOperation, fields: object): Promise<void> {
  validate(documentFieldsSchema, fields);
  const head = new FileHead();
  head.end(bytes);
  await head.resume().toArray();
  const read = async (start: number, end: number) => Readable.from([bytes.subarray(start, end)]);
  const recognized = await recognizeFormat(fileName, head, { size: bytes.length, read });
  if ('defect' in recognized) {
    throw validationError([{ field: 'file', message: formatMessage(recognized.defect) }]);
  }
}

/** The record that continues another one does not exist, and neither does that one. */
function survivorNotFound({ kind, into }: MergeOperation): ServiceError {
  const { title } = mergeable[kind];
  return referencesNotFound([{ field: 'merged_into', kind, title, id: into }]);
}

const mergeable = { patient, encounter };

/** Returns how the records of a kind are read: undefined for one that does not exist, or was erased. */
function statesOf(ports: IngestPorts, { workspace }: Caller, kind: string) {
  return async (id: string): Promise<RecordState | undefined> => {
    const state = await currentState(ports, kind, recordStream(workspace, kind, id));
    return state?.erased ? undefined : state;
  };
}

/** One of several events of a request, each with an id of its own. */
function ownEvent(caller: Caller): Caller {
  return { ...caller, earlier: { eventId: uuidv7(), appended: false } };
}

const skipped = { unchanged: 'skip' } as const;

/**
 * Creates the record that continues another one, where only the latter exists, with its fields: what is known of a
 * person or a visit must not be lost with a former number. Rejects with `unreadable` and `unavailable`.
 */
export async function continueRecord(
  ports: IngestPorts,
  caller: Caller,
  { kind, id, into }: MergeOperation,
): Promise<void> {
  const stateOf = statesOf(ports, caller, kind);
  if ((await stateOf(into)) !== undefined) return;
  const former = await stateOf(id);
  if (former === undefined) return;
  const { merged_into: _, ...fields } = former.fields;
  await upsertRecord(ports, ownEvent(caller), mergeable[kind], { ...fields, id: into }, skipped);
}

/**
 * Records that a record was merged into another one, unless that is already so. A patient who does not exist is
 * created, with the name and date of birth of the survivor, so that encounters that name that patient are accepted;
 * an encounter likewise, so that it is void when it arrives later. If the survivor had been merged into that patient
 * before, that merge ends; a visit that takes place under either number takes place. Rejects with
 * `reference_not_found` where there is neither record, with `unreadable` and `unavailable`.
 */
export async function writeMerge(
  ports: IngestPorts,
  caller: Caller,
  operation: MergeOperation,
  { dryRun, isForeseen }: { dryRun: boolean; isForeseen: boolean },
): Promise<OperationResult> {
  const { kind, id, into, fields } = operation;
  const entry = mergeable[kind];
  const stateOf = statesOf(ports, caller, kind);
  const [survivor, merged] = [await stateOf(into), await stateOf(id)];
  if (merged === undefined && operation.given === 'present') return { outcome: 'left_out' };
  if (survivor === undefined && merged === undefined && !isForeseen) throw survivorNotFound(operation);
  if (survivor === undefined || dryRun) {
    const outcome = merged === undefined ? 'created' : 'updated';
    return { outcome, version: (merged?.version ?? 0) + 1, warnings: [] };
  }
  const revived = await revivedFields(operation, survivor, merged, stateOf);
  if (revived) await patchRecord(ports, ownEvent(caller), entry, into, revived, skipped);
  if (merged) return writeResult(await patchRecord(ports, ownEvent(caller), entry, id, fields, skipped));
  const { first_name, last_name, date_of_birth, patient_id } = survivor.fields;
  const needed = kind === 'patient' ? { first_name, last_name, date_of_birth } : { patient_id };
  return writeResult(
    await upsertRecord(ports, ownEvent(caller), entry, { id, ...needed, ...fields }, skipped),
  );
}

/** Resolves with what ends an earlier merge of the survivor itself. */
async function revivedFields(
  { kind, id }: MergeOperation,
  survivor: RecordState,
  merged: RecordState | undefined,
  stateOf: (id: string) => Promise<RecordState | undefined>,
): Promise<object | undefined> {
  if (kind === 'patient') return (await leadsTo(survivor, id, stateOf)) ? { merged_into: null } : undefined;
  const isRevived = survivor.fields.voided_at != null && merged && merged.fields.voided_at == null;
  return isRevived ? { voided_at: null, void_reason: null } : undefined;
}

/** Resolves with whether merges lead from a patient to another one. */
async function leadsTo(
  from: RecordState,
  to: string,
  stateOf: (id: string) => Promise<RecordState | undefined>,
): Promise<boolean> {
  const known = new Set<unknown>();
  for (let state: RecordState | undefined = from; state !== undefined; ) {
    const next = state.fields.merged_into;
    if (next === to) return true;
    if (typeof next !== 'string' || known.has(next)) return false;
    known.add(next);
    state = await stateOf(next);
  }
  return false;
}

/** Encounters of a patient that are read at once. */
const PAGE = 100;

/**
 * Voids the encounters of a patient that are not yet void. Rejects with `unreadable`, and with `unavailable`, also
 * where the list of encounters is behind.
 */
export async function voidEncounters(
  ports: IngestPorts,
  caller: Caller,
  { patientId, fields }: VoidAllOperation,
  { dryRun }: { dryRun: boolean },
): Promise<OperationResult> {
  const state = await statesOf(ports, caller, patient.kind)(patientId);
  if (state === undefined) return { outcome: 'left_out' };
  let outcome: 'updated' | 'unchanged' = 'unchanged';
  for (let pageToken: string | undefined; ; ) {
    const { items, next_page_token } = await readRecordsPage(
      ports,
      kindPartition(caller.workspace, encounter.kind),
      { limit: PAGE, pageToken, sort: 'created_at', filters: [{ field: 'patient_id', value: patientId }] },
    );
    for (const row of items) {
      const id = recordIdOf(row.id);
      const current = await statesOf(ports, caller, encounter.kind)(id);
      if (current === undefined || current.fields.voided_at != null) continue;
      outcome = 'updated';
      if (!dryRun) await patchRecord(ports, ownEvent(caller), encounter, id, fields, skipped);
    }
    if (next_page_token === null) return { outcome, version: state.version, warnings: [] };
    pageToken = next_page_token;
  }
}

/** Removes a document, unless there is none. Rejects with `unavailable`. */
export async function removeDocumentIfAny(
  { eventLog }: IngestPorts,
  caller: Caller,
  { encounterId, documentId }: RemovalOperation,
  { dryRun }: { dryRun: boolean },
): Promise<OperationResult> {
  const stream = documentStream(caller.workspace, encounterId, documentId);
  const [last] = await eventLog.readStream(stream, { direction: 'backwards', limit: 1 });
  if (last?.type !== 'DocumentUploaded') return { outcome: 'left_out' };
  if (!dryRun) await removeDocument(eventLog, ownEvent(caller), encounterId, documentId, 'any');
  return { outcome: 'updated', version: last.revision + 2, warnings: [] };
}

function writeResult({ outcome, version, warnings }: Written): OperationResult {
  return { outcome, version, warnings };
}

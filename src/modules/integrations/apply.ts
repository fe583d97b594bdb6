import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { v7 as uuidv7 } from 'uuid';
import type { JsonObject } from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { documentStream, recordStream } from '../../domain/events/streams.ts';
import { documentFieldsSchema } from '../../domain/records/document.ts';
import type { RecordState } from '../../domain/records/fold.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import type { RecordFields } from '../../domain/records/schema/kind.ts';
import { validate, validationError } from '../../domain/records/schema/validation.ts';
import { type FieldMessage, ServiceError } from '../../platform/errors.ts';
import type { DocumentStore } from '../../storage/documentStore.ts';
import type { StateWrite } from '../../storage/stateStore.ts';
import { type BatchRun, runBatch } from '../records/commands/batch.ts';
import type { BatchLine, LineResult } from '../records/commands/batchOrder.ts';
import { FileHead, formatMessage, recognizeFormat } from '../records/commands/documentFormat.ts';
import { receiveFile, requireEncounter, uploadDocument } from '../records/commands/documents.ts';
import { referencesNotFound } from '../records/commands/references.ts';
import {
  patchRecord,
  type RecordStates,
  upsertRecord,
  type WritePorts,
  type Written,
} from '../records/commands/upsert.ts';
import { currentState } from '../records/queries/records.ts';
import { type MessageClaims, MessageLock } from './messages/claims.ts';
import type { IncomingMessage, Message, MessageBody } from './messages/message.ts';
import type { MessageStore, ProcessedMessage } from './messages/store.ts';
import { DEFAULT_RETENTION_DAYS, type Source } from './sources.ts';

/** A message as it arrived. */
export type RawMessage = Pick<MessageBody, 'format' | 'media_type' | 'request'> & {
  bytes: readonly Buffer[];
};

/** Keeps one message of a source while it is carried out. */
export class MessageRecorder {
  /** Who carries out what it says: events tell where they come from. */
  readonly caller: Caller;
  readonly #store: MessageStore;
  readonly #source: Source;
  readonly #raw: RawMessage;
  #message: Message | undefined;

  constructor(store: MessageStore, caller: Caller, source: Source, raw: RawMessage) {
    this.caller = { ...caller, source: { id: source.id, message: uuidv7() } };
    this.#store = store;
    this.#source = source;
    this.#raw = raw;
  }

  /**
   * Claims it by the name its sender gives it, in the order of the name's parts, and keeps it with the records that it
   * concerns; or resolves with the one that was taken before with the same content. The message is kept once `confirm`
   * resolves: nothing may be written to the records before. Rejects as `MessageClaims.claim` does.
   */
  async claim(
    claims: MessageClaims,
    control: readonly string[],
    about: AboutRecord[],
    signal: AbortSignal,
  ): Promise<{ lock: MessageLock; confirm(): Promise<void> } | Message> {
    const { workspace } = this.caller;
    const identity = { workspace, source: this.#source.id, control, bytes: this.#raw.bytes };
    const named = await claims.controlOf(identity);
    const incoming = this.#incoming(about);
    const prepared = await this.#store.prepare(this.caller, { ...incoming, control: named });
    const message = { workspace, id: incoming.id, control: named };
    const claimed = await claims.claim(message, prepared.writes, signal);
    if (!(claimed instanceof MessageLock)) {
      await this.#store.discard(prepared);
      return claimed;
    }
    this.#message = prepared.message;
    return { lock: claimed, confirm: () => this.#store.confirm(prepared) };
  }

  /** Keeps it as it arrived: before anything is written to the records it concerns. Rejects with `unavailable`. */
  async save(about: AboutRecord[]): Promise<void> {
    this.#message = await this.#store.receive(this.caller, this.#incoming(about));
  }

  /** Notes its result, where it is kept, with further writes. Rejects with `unavailable`. */
  async processed(became: ProcessedMessage, further: readonly StateWrite[] = []): Promise<void> {
    if (this.#message) await this.#store.processed(this.#message, became, further);
  }

  #incoming(about: AboutRecord[]): IncomingMessage {
    const { id, retention_days: retentionDays = DEFAULT_RETENTION_DAYS } = this.#source;
    const own = { id: this.caller.source?.message as string, source: id, retentionDays };
    return { ...this.#raw, ...own, about };
  }
}

/** A record that a message concerns, and the result for it. */
type About = MessageBody['about'][number];
/** A record that a message concerns. */
export type AboutRecord = Pick<About, 'kind' | 'id'>;

/** Returns the record of an operation; for a document, its encounter. */
export function recordOf(operation: Operation): AboutRecord {
  if (operation.type === 'merge') return { kind: 'patient', id: operation.id };
  return operation.type === 'document'
    ? { kind: 'encounter', id: operation.encounterId }
    : { kind: operation.kind, id: operation.fields.id };
}

/** Returns each record once, with what is said about it last. */
export function eachOnce<Entry extends AboutRecord>(entries: readonly Entry[]): Entry[] {
  return [...new Map(entries.map((one) => [JSON.stringify([one.kind, one.id]), one])).values()];
}

/** Returns the result of what a message says about a record: refused, where it had no result. */
export function resultOutcome(record: AboutRecord, result: OperationResult | undefined): About {
  const { kind, id } = record;
  if (result === undefined || 'error' in result) return { kind, id, outcome: 'refused' };
  return { kind, id, outcome: result.outcome, ...('version' in result && { version: result.version }) };
}

/** Returns the result of an operation for its record; none for a document, whose versions are not its encounter's. */
export function operationOutcome(operation: Operation, result: OperationResult | undefined): About[] {
  return operation.type === 'document' ? [] : [resultOutcome(recordOf(operation), result)];
}

/**
 * Uploads a document from a message, unless the last one with its id has the same bytes, name and category. Rejects
 * with `validation_failed`, `not_found` where there is no such encounter, and `unavailable`.
 */
async function writeDocument(
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
  const recognized = await recognizeFormat(fileName, head, { size: bytes.length, read });
  if ('defect' in recognized) {
    throw validationError([{ field: 'file', message: formatMessage(recognized.defect) }]);
  }
}

/**
 * Records that a patient was merged into another one, unless that is already so. A patient who does not exist is
 * created, with the name and date of birth of the survivor, so that encounters that name that patient are accepted.
 * If the survivor had been merged into that patient before, that merge ends. Rejects with `reference_not_found` where
 * there is no survivor, with `unreadable` and `unavailable`.
 */
async function writeMerge(
  ports: IngestPorts,
  caller: Caller,
  { id, into }: MergeOperation,
  { dryRun, isForeseen }: { dryRun: boolean; isForeseen: boolean },
): Promise<OperationResult> {
  const { workspace } = caller;
  const stateOf = async (one: string): Promise<RecordState | undefined> => {
    const state = await currentState(ports, patient.kind, recordStream(workspace, patient.kind, one));
    return state?.erased ? undefined : state;
  };
  const survivor = await stateOf(into);
  if (survivor === undefined && !isForeseen) {
    const { kind, title } = patient;
    throw referencesNotFound([{ field: 'merged_into', kind, title, id: into }]);
  }
  const merged = await stateOf(id);
  if (survivor === undefined || dryRun) {
    const outcome = merged === undefined ? 'created' : 'updated';
    return { outcome, version: (merged?.version ?? 0) + 1, warnings: [] };
  }
  const options = { unchanged: 'skip' } as const;
  // One of several events of a request, each with an id of its own.
  const own = () => ({ ...caller, earlier: { eventId: uuidv7(), appended: false } });
  if (await leadsTo(survivor, id, stateOf)) {
    await patchRecord(ports, own(), patient, into, { merged_into: null }, options);
  }
  if (merged)
    return writeResult(await patchRecord(ports, own(), patient, id, { merged_into: into }, options));
  const { first_name, last_name, date_of_birth } = survivor.fields;
  const fields = { id, first_name, last_name, date_of_birth, merged_into: into };
  return writeResult(await upsertRecord(ports, own(), patient, fields, options));
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

function writeResult({ outcome, version, warnings }: Written): OperationResult {
  return { outcome, version, warnings };
}

export interface IngestPorts extends WritePorts {
  documentStore: DocumentStore;
}

/** Whose operations are carried out, and within which limits. */
export interface IngestRun extends Pick<BatchRun, 'authorize' | 'limiter' | 'stopping'> {
  caller: Caller;
  /** Nothing is written; only the results that a write would have are reported. */
  dryRun?: boolean;
  /** What a dry run of the same operations read; it fills this. */
  states?: RecordStates;
  /** What may be carried out of operations that are older than they seem; without it, everything. */
  guard?: Guard;
}

/**
 * Resolves, for each operation, with why it must no longer be carried out, or the version of the record on which it
 * is based.
 */
export type Guard = (
  operations: readonly Operation[],
) => Promise<ReadonlyMap<Operation, { error: ServiceError } | { version: number }>>;

/** The result of an operation. */
export type OperationResult =
  | { outcome: 'created' | 'updated' | 'unchanged'; version: number; warnings: FieldMessage[] }
  /** The record that it would have created exists. */
  | { outcome: 'left_out' }
  | { error: unknown };

/**
 * Carries out the operations of a message, in whatever order they come: records that others refer to first, then
 * merges of them, documents last. What changes nothing appends no event. Each is durable when it is reported as
 * written; a refused one does not stop the others, and once a store cannot be reached the rest is answered with
 * `unavailable`. Resolves with a result for each, in their order; rejects with `unavailable` where nothing was begun.
 */
export async function applyOperations(
  ports: IngestPorts,
  run: IngestRun,
  operations: readonly Operation[],
): Promise<OperationResult[]> {
  const results = new Map<Operation, OperationResult>();
  const guarded = await run.guard?.(operations);
  for (const [one, came] of guarded ?? []) if ('error' in came) results.set(one, came);
  const allowed = operations.filter((one) => !results.has(one));
  const records = allowed.filter((one) => one.type === 'record');
  const present = await presentAmong(ports, run.caller.workspace, records);
  const written = records.filter((one) => !present.has(one));
  for (const one of present) results.set(one, { outcome: 'left_out' });
  await writeRecords(ports, run, written, results, (one) => ({ ...one, ...guarded?.get(one) }));
  for (const one of allowed) {
    if (one.type === 'merge') results.set(one, await mergeResult(ports, run, one, records));
  }
  for (const one of allowed) {
    if (one.type === 'document') results.set(one, await documentResult(ports, run, one, records));
  }
  return operations.map((one) => results.get(one) as OperationResult);
}

/** Resolves with those of the operations whose records already exist, where only missing ones are to be created. */
async function presentAmong(
  { existence }: IngestPorts,
  workspace: string,
  records: readonly RecordOperation[],
): Promise<Set<RecordOperation>> {
  const asked = records.filter(({ ifAbsent }) => ifAbsent);
  if (asked.length === 0) return new Set();
  const streamOf = ({ kind, fields }: RecordOperation) => recordStream(workspace, kind, fields.id);
  const missing = await existence.missing(asked.map(streamOf));
  return new Set(asked.filter((one) => !missing.has(streamOf(one))));
}

async function writeRecords(
  ports: IngestPorts,
  { caller, dryRun = false, states, ...around }: IngestRun,
  operations: readonly RecordOperation[],
  results: Map<Operation, OperationResult>,
  conditional: (operation: RecordOperation) => RecordOperation,
): Promise<void> {
  const byLine = new Map<BatchLine, RecordOperation>();
  for (const [index, operation] of operations.entries()) {
    byLine.set(lineOf(conditional(operation), index + 1), operation);
  }
  await runBatch([...byLine.keys()], {
    ...{ ports, caller, ...around, isRepeat: false },
    options: { dryRun, unchanged: 'skip', ...(states && { states }) },
    eventId: () => uuidv7(),
    answer: (line, result) => results.set(byLine.get(line) as RecordOperation, lineResult(result)),
  });
}

function lineOf({ kind, fields, version }: RecordOperation, number: number): BatchLine {
  const value: JsonObject = { kind, record: fields, ...(version !== undefined && { if_match: version }) };
  return { number, seemingKind: kind, read: () => value };
}

function lineResult(result: LineResult): OperationResult {
  if ('error' in result) return { error: result.error };
  const { outcome, version, warnings } = result.written;
  return { outcome, version, warnings };
}

function documentResult(
  ports: IngestPorts,
  run: IngestRun,
  document: DocumentOperation,
  records: readonly RecordOperation[],
): Promise<OperationResult> {
  const foreseen = pendingIn(run, records, 'encounter', document.encounterId);
  return resultOne(run, 'document', () => writeDocument(ports, run.caller, document, foreseen));
}

function mergeResult(
  ports: IngestPorts,
  run: IngestRun,
  merge: MergeOperation,
  records: readonly RecordOperation[],
): Promise<OperationResult> {
  const foreseen = pendingIn(run, records, 'patient', merge.into);
  return resultOne(run, 'patient', () => writeMerge(ports, run.caller, merge, foreseen));
}

/** Returns whether it is a dry run, and whether that would have written the record by now. */
function pendingIn(
  { dryRun = false }: IngestRun,
  records: readonly RecordOperation[],
  kind: string,
  id: string,
): { dryRun: boolean; isForeseen: boolean } {
  const isWritten = records.some((one) => one.kind === kind && one.fields.id === id);
  return { dryRun, isForeseen: dryRun && isWritten };
}

async function resultOne(
  { stopping, authorize }: IngestRun,
  kind: string,
  write: () => Promise<OperationResult>,
): Promise<OperationResult> {
  try {
    stopping.throwIfAborted();
    authorize(kind);
    return await write();
  } catch (error) {
    if (error instanceof ServiceError) return { error };
    throw error;
  }
}

/** What a message says about one record: fields as for an upsert, including its id. */
export interface RecordOperation {
  type: 'record';
  kind: string;
  fields: RecordFields;
  /** Where the message says it: `PID`, `Bundle.entry[3].resource`. */
  at: string;
  /** Where its fields come from; always set for a message that is read again. */
  origins?: Origins;
  /**
   * Only a record that does not exist is written: what is mentioned in passing must not replace what somebody sent.
   */
  ifAbsent?: boolean;
  /** It is based on this version of the record, and is refused where there is another one by then. */
  version?: number;
}

/** A document of an encounter. */
interface DocumentOperation {
  type: 'document';
  encounterId: string;
  documentId: string;
  category: string;
  fileName: string;
  bytes: Buffer;
  at: string;
  origins?: Origins;
}

/** A patient was merged into another one, the survivor, as both are the same person. */
interface MergeOperation {
  type: 'merge';
  id: string;
  into: string;
  at: string;
  origins?: Origins;
}

export type Operation = RecordOperation | DocumentOperation | MergeOperation;

/** Where a field of a record comes from. */
export interface Origin {
  /**
   * Where the message says it: `PID^1^5^1^1` (HL7 v2, in the form of ERR-2), `Patient.name[0].family` (FHIRPath).
   * Undefined where it has no place, as with a record named by a setting.
   */
  at?: string;
  /** The source's setting that determined it, where one did: `facility`, `mapping.visit_types`. */
  setting?: string;
  /** Name of the rule by which it was read, for FHIR; for HL7 v2 the field determines it. */
  rule?: string;
}

/** By the field of a record, dotted inside an insurance. */
export type Origins = Record<string, Origin>;

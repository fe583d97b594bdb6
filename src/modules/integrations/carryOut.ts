import { v7 as uuidv7 } from 'uuid';
import type { JsonObject } from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { recordStream } from '../../domain/events/streamNames.ts';
import type { FieldMessage } from '../../platform/errors.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { DocumentStore } from '../../storage/documentStore.ts';
import type { BatchLine, LineResult } from '../records/commands/batchLine.ts';
import { type BatchRun, runBatch } from '../records/commands/runBatch.ts';
import type { WritePorts } from '../records/commands/upsertRecord.ts';
import type { DocumentOperation, MergeOperation, Operation, RecordOperation } from './operation.ts';
import { writeDocument } from './writeDocument.ts';
import { writeMerge } from './writeMerge.ts';

export interface IngestPorts extends WritePorts {
  documentStore: DocumentStore;
}

/** Whose operations are carried out, and within which limits. */
export interface IngestRun extends Pick<BatchRun, 'authorize' | 'limiter' | 'stopping'> {
  caller: Caller;
  /** Nothing is written; only the results that a write would have are reported. */
  dryRun?: boolean;
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
export async function carryOut(
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
  { caller, dryRun = false, ...around }: IngestRun,
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
    options: { dryRun, unchanged: 'skip' },
    eventId: () => uuidv7(),
    answer: (line, result) => results.set(byLine.get(line) as RecordOperation, resultOf(result)),
  });
}

function lineOf({ kind, fields, version }: RecordOperation, number: number): BatchLine {
  const value: JsonObject = { kind, record: fields, ...(version !== undefined && { if_match: version }) };
  return { number, seemingKind: kind, read: () => value };
}

function resultOf(result: LineResult): OperationResult {
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
  const foreseen = foreseenIn(run, records, 'encounter', document.encounterId);
  return resultOne(run, 'document', () => writeDocument(ports, run.caller, document, foreseen));
}

function mergeResult(
  ports: IngestPorts,
  run: IngestRun,
  merge: MergeOperation,
  records: readonly RecordOperation[],
): Promise<OperationResult> {
  const foreseen = foreseenIn(run, records, 'patient', merge.into);
  return resultOne(run, 'patient', () => writeMerge(ports, run.caller, merge, foreseen));
}

/** Returns whether it is a dry run, and whether that would have written the record by now. */
function foreseenIn(
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

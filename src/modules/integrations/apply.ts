import { v7 as uuidv7 } from 'uuid';
import type { JsonObject } from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { recordStream } from '../../domain/events/streams.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { StateWrite } from '../../storage/stateStore.ts';
import { type BatchRun, runBatch } from '../records/commands/batch.ts';
import type { BatchLine, LineResult } from '../records/commands/batchOrder.ts';
import {
  appendForeseen,
  areCurrent,
  type ForeseenAppends,
  likelyStates,
} from '../records/commands/foreseen.ts';
import { isReturnRefused } from '../records/commands/returns.ts';
import type { RecordStates } from '../records/commands/upsert.ts';
import { currentState } from '../records/queries/records.ts';
import { type MessageClaims, MessageLock } from './messages/claims.ts';
import type { IncomingMessage, Message, MessageBody } from './messages/message.ts';
import type { MessageStore, ProcessedMessage } from './messages/store.ts';
import {
  type About,
  type AboutRecord,
  type Operation,
  type OperationResult,
  type RecordOperation,
  recordOf,
  saidOf,
} from './operations.ts';
import { DEFAULT_RETENTION_DAYS, type Source } from './sources.ts';
import {
  continueRecord,
  type IngestPorts,
  removeDocumentIfAny,
  voidEncounters,
  writeDocument,
  writeMerge,
} from './writes.ts';

/** A message as it arrived. */
export type RawMessage = Pick<MessageBody, 'format' | 'media_type' | 'event' | 'control_id' | 'request'> & {
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

/** Whether an operation was refused because its record was erased, and may not return. */
export function isOfErased(result: OperationResult | undefined): boolean {
  return result !== undefined && 'error' in result && isReturnRefused(result.error);
}

/** Returns the result of an operation for its record; none for a document, whose versions are not its encounter's. */
export function operationOutcome(operation: Operation, result: OperationResult | undefined): About[] {
  const isOfDocument = operation.type === 'document' || operation.type === 'removal';
  return isOfDocument ? [] : [resultOutcome(recordOf(operation), result)];
}

/** Whose operations are carried out, and within which limits. */
export interface IngestRun extends Pick<BatchRun, 'authorize' | 'limiter' | 'stopping'> {
  caller: Caller;
  /** Nothing is written; only the results that a write would have are reported. */
  dryRun?: boolean;
  /** A dry run adds what it would append. */
  foreseen?: ForeseenAppends;
  /** By which records are judged; those of others are read. */
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
  for (const one of allowed) {
    if (run.dryRun || one.type !== 'merge') continue;
    const continued = await resultOne(run, one.kind, () => continueRecord(ports, run.caller, one));
    if (continued && 'error' in continued) results.set(one, continued);
  }
  const merges = allowed.filter((one) => one.type === 'merge' && !results.has(one));
  const records = allowed.filter((one) => one.type === 'record');
  const states = run.states ?? new Map();
  const said = await presentlySaid(ports, run, records, states);
  for (const one of records) if (!said.has(one)) results.set(one, { outcome: 'left_out' });
  const written = [...said.keys()];
  await writeRecords(ports, { ...run, states }, written, results, (one) => ({
    ...(said.get(one) as RecordOperation),
    ...guarded?.get(one),
  }));
  for (const one of [...merges, ...allowed.filter(({ type }) => type !== 'record' && type !== 'merge')]) {
    results.set(one, await otherResult(ports, run, one, records));
  }
  return operations.map((one) => results.get(one) as OperationResult);
}

/**
 * Carries out the operations of a message as `applyOperations` does, but none of them where one would be refused; a
 * further writer may still cause one to be refused. `keeping`: that the message is kept, before which nothing is written. Rejects
 * with `unavailable`, also where a part is written by then: the same message then completes it.
 */
export async function applyAtomically(
  ports: IngestPorts,
  run: IngestRun,
  operations: readonly Operation[],
  keeping: Promise<void>,
): Promise<OperationResult[]> {
  const foreseen: ForeseenAppends = new Map();
  const isForeseen = !run.dryRun && isForeseeable(run.caller.workspace, operations);
  // What is to be written is foreseen: a refusal by it is no mere trial.
  const trialRun = { ...run, dryRun: true, ...(!run.dryRun && { foreseen }) };
  const trial = isForeseen
    ? foresee(ports, { ...trialRun, foreseen }, operations)
    : applyOperations(ports, trialRun, operations);
  // It is awaited later, and may fail before that.
  trial.catch(() => undefined);
  await keeping;
  const results = await trial;
  if (run.dryRun || results.some((result) => 'error' in result)) return results;
  const written = isForeseen ? await writeForeseen(ports, run, operations, foreseen) : new Set();
  const left = operations.filter((one) => !written.has(one));
  if (left.length === 0) return results;
  // The first trial counts; only that may be refused because of the limit.
  const rest = { ...run, limiter: undefined };
  // A record was not what the trial took it for: the trial is repeated by what the log says.
  const isDisproved = isForeseen && left.some(({ type }) => type === 'record');
  const again = isDisproved ? await applyOperations(ports, { ...trialRun, limiter: undefined }, left) : [];
  const isRefused = again.some((result) => 'error' in result);
  const later = (isRefused ? again : await applyOperations(ports, rest, left)).values();
  return results.map((result, at) =>
    written.has(operations[at] as Operation) ? result : (later.next().value as OperationResult),
  );
}

const streamOf = (workspace: string, { kind, fields }: RecordOperation) =>
  recordStream(workspace, kind, fields.id);

/** Whether a trial sees all that the operations change: not what merges, or the first of two operations of a record, change. */
function isForeseeable(workspace: string, operations: readonly Operation[]): boolean {
  const streams = operations.flatMap((one) => (one.type === 'record' ? [streamOf(workspace, one)] : []));
  return new Set(streams).size === streams.length && operations.every(({ type }) => type !== 'merge');
}

/**
 * Carries out a trial, whose results hold once what it foresees is appended. It is based on what the records most likely are, which spares
 * reading their streams: an append behind another version is refused. Where nothing is to be appended, the log is asked.
 */
async function foresee(
  ports: IngestPorts,
  run: IngestRun & { foreseen: ForeseenAppends },
  operations: readonly Operation[],
): Promise<OperationResult[]> {
  const { caller, foreseen } = run;
  const streams = operations.flatMap((one) => {
    if (one.type !== 'record') return [];
    const stream = streamOf(caller.workspace, one);
    return one.ifAbsent && ports.existence.isKnown(stream) ? [] : [stream];
  });
  const likely = await likelyStates(ports, streams);
  const results = await applyOperations(ports, { ...run, states: new Map(likely) }, operations);
  const unproven = [...likely].filter(([stream]) => !foreseen.has(stream));
  // What the limit refused stays refused: only the first trial is counted.
  if (results.some(isLimited) || (await areCurrent(ports, unproven))) return results;
  foreseen.clear();
  return applyOperations(ports, { ...run, limiter: undefined }, operations);
}

const isLimited = (result: OperationResult) =>
  'error' in result && result.error instanceof ServiceError && result.error.code === 'rate_limited';

/** Writes what a trial foresaw; resolves with the operations that are carried out by that. Rejects with `unavailable`. */
async function writeForeseen(
  ports: IngestPorts,
  { caller }: IngestRun,
  operations: readonly Operation[],
  foreseen: ForeseenAppends,
): Promise<Set<Operation>> {
  const left = await appendForeseen(ports, foreseen);
  const isWritten = (one: RecordOperation) => !left.has(streamOf(caller.workspace, one));
  return new Set(operations.filter((one) => one.type === 'record' && isWritten(one)));
}

/**
 * Resolves with what the operations say in the present state of their records, which is added to `states`; without those that this
 * leaves out.
 */
async function presentlySaid(
  ports: IngestPorts,
  { caller }: IngestRun,
  records: readonly RecordOperation[],
  states: RecordStates,
): Promise<Map<RecordOperation, RecordOperation>> {
  const present = await presentAmong(ports, caller.workspace, records);
  const said = new Map<RecordOperation, RecordOperation>();
  for (const one of records.filter((each) => !present.has(each))) {
    const stream = streamOf(caller.workspace, one);
    const isJudged = one.given !== undefined || one.ifUnset !== undefined;
    if (isJudged && !states.has(stream)) states.set(stream, await currentState(ports, one.kind, stream));
    const state = isJudged ? states.get(stream) : undefined;
    const now = saidOf(one, state?.erased ? undefined : state?.fields);
    if (now) said.set(one, now);
  }
  return said;
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
  { caller, dryRun = false, states, foreseen, ...around }: IngestRun & { states: RecordStates },
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
    options: { dryRun, unchanged: 'skip', states, ...(foreseen && { foreseen }) },
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

/** Carries out an operation that is more than one write, or none of a record. */
function otherResult(
  ports: IngestPorts,
  run: IngestRun,
  operation: Operation,
  records: readonly RecordOperation[],
): Promise<OperationResult> {
  const { caller } = run;
  const foreseen = (kind: string, id: string) => pendingIn(run, records, kind, id);
  switch (operation.type) {
    case 'merge': {
      const { kind, into } = operation;
      return resultOne(run, kind, () => writeMerge(ports, caller, operation, foreseen(kind, into)));
    }
    case 'voidAll': {
      const { patientId } = operation;
      return resultOne(run, 'encounter', () =>
        voidEncounters(ports, caller, operation, foreseen('patient', patientId)),
      );
    }
    case 'document':
    case 'removal': {
      const pending = foreseen('encounter', operation.encounterId);
      return resultOne(run, 'document', () =>
        operation.type === 'document'
          ? writeDocument(ports, caller, operation, pending)
          : removeDocumentIfAny(ports, caller, operation, pending),
      );
    }
    default:
      throw new Error('records are written in groups');
  }
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

async function resultOne<Result>(
  { stopping, authorize }: IngestRun,
  kind: string,
  write: () => Promise<Result>,
): Promise<Result | { error: ServiceError }> {
  try {
    stopping.throwIfAborted();
    authorize(kind);
    return await write();
  } catch (error) {
    if (error instanceof ServiceError) return { error };
    throw error;
  }
}

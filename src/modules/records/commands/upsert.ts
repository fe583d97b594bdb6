import type { NewEvent, RecordedEvent, UnchangedChoice } from '../../../domain/events/event.ts';
import { type Caller, newEvent } from '../../../domain/events/newEvent.ts';
import { erasureStep } from '../../../domain/events/payloads.ts';
import { recordStream, workspaceOfStream } from '../../../domain/events/streams.ts';
import {
  patchRecord as applyPatch,
  type DetectedChange,
  detectChange,
  evolveRecord,
  type RecordState,
  type WriteBase,
} from '../../../domain/records/fold.ts';
import type { CatalogEntry, RecordFields } from '../../../domain/records/schema/kind.ts';
import { validate } from '../../../domain/records/schema/validation.ts';
import { type FieldMessage, notFound, ServiceError, UnreadableError } from '../../../platform/errors.ts';
import {
  type Appended,
  appendBehind,
  type EventLog,
  type ExpectedRevision,
} from '../../../storage/eventLog.ts';
import type { ReadModels } from '../../../storage/readModels.ts';
import { findPreviousAppend } from '../../idempotency/keys.ts';
import { currentState, type Evolve, foldStream, projectedState } from '../queries/records.ts';
import type { ForeseenAppend, ForeseenAppends } from './foreseen.ts';
import {
  awaitReferences,
  checkReferences,
  type RecordExistence,
  type ReferenceWait,
  type ReferenceWaits,
} from './references.ts';
import type { RecordReturns } from './returns.ts';

/** The warning for a record that is new, and whose id belonged to one that was erased. */
export const PREVIOUSLY_ERASED: FieldMessage = {
  field: 'id',
  message: 'previously_erased: the record with this id was erased, and now exists again',
};

/** A write's condition on the current state: as `ExpectedRevision`, or `exists`: it must exist, in any version. */
export type WriteCondition = ExpectedRevision | 'exists';

/** The error for a write whose condition is not met; `version` is the current one, if any. */
export function conditionNotMet(what: 'record' | 'document', version?: number): ServiceError {
  const message =
    version === undefined ? `The ${what} does not exist.` : `The ${what} is at version ${version}.`;
  return new ServiceError('version_conflict', message, { ...(version !== undefined && { version }) });
}

/** Throws `version_conflict` unless a record meets the condition; `state` is undefined when there is none, or it was erased. */
function requireRecord(condition: WriteCondition, state: WriteBase | undefined): void {
  if (condition === 'any') return;
  const isMet =
    condition === 'none'
      ? state === undefined
      : state !== undefined && (condition === 'exists' || condition === state.version - 1);
  if (!isMet) throw conditionNotMet('record', state?.version);
}

/**
 * Throws `version_conflict` unless a document whose stream ends with `last` meets the condition; a removed document counts as
 * missing.
 */
export function requireDocument(condition: WriteCondition, last: RecordedEvent | undefined): void {
  if (condition === 'any') return;
  const version = last?.type === 'DocumentUploaded' ? last.revision + 1 : undefined;
  const isMet =
    condition === 'none'
      ? version === undefined
      : version !== undefined && (condition === 'exists' || condition === version - 1);
  if (!isMet) throw conditionNotMet('document', version);
}

/** Appends to a document's stream under a condition on the document. Rejects as `EventLog.append` does. */
export async function appendToDocument(
  eventLog: Pick<EventLog, 'append' | 'readStream'>,
  stream: string,
  event: NewEvent,
  condition: WriteCondition,
): Promise<Appended> {
  if (condition === 'any') return eventLog.append(stream, event, 'any');
  for (;;) {
    const [last] = await eventLog.readStream(stream, { direction: 'backwards', limit: 1 });
    requireDocument(condition, last);
    const appended = await appendBehind(eventLog, stream, event, last?.revision ?? -1);
    if (appended) return appended;
  }
}

interface RecordPorts {
  eventLog: EventLog;
  existence: RecordExistence;
  returns: RecordReturns;
}

/** Rejects unless a record may be written that was erased up to `version` (`RecordReturns.require`). */
type RequireReturn = (version: number, options: { isTrial: boolean }) => Promise<void>;

/** An append to a record's stream, under a condition on the record. */
interface RecordAppend {
  stream: string;
  event: NewEvent;
  condition: WriteCondition;
  /** Undefined where an erased record may be written. */
  requireReturn: RequireReturn | undefined;
}

/** The revision of a record's event, and whether the record is new: it never existed before, or was erased. */
interface AppendedToRecord {
  revision: number;
  isNew: boolean;
}

/**
 * Appends to a record's stream under a condition on the record; an erased record counts as missing. Takes no read when the record
 * is known to exist, or was never erased. Rejects as `EventLog.append` and `requireReturn` do.
 */
async function appendToRecord(ports: RecordPorts, append: RecordAppend): Promise<AppendedToRecord> {
  const { eventLog, existence } = ports;
  const { stream, event, condition, requireReturn } = append;
  if (condition === 'none') return createRecord(eventLog, append);
  const isKnown = existence.isKnown(stream);
  if (condition === 'any' && !isKnown && requireReturn) {
    const created = await createRecord(eventLog, append).catch(undefinedIfConflict);
    if (created) return created;
  }
  if (condition !== 'any' && !isKnown && (await existence.missing([stream])).size > 0) {
    throw conditionNotMet('record');
  }
  const expected = condition === 'exists' ? 'any' : condition;
  const appended = await eventLog.append(stream, event, expected);
  const mayBeErased = !isKnown && condition === 'any';
  return { revision: appended.revision, isNew: await isNewRecord(eventLog, stream, appended, mayBeErased) };
}

/** Whether an appended event begins a record: as its first event or, where `mayBeErased`, as the first after its erasure. */
export async function isNewRecord(
  eventLog: EventLog,
  stream: string,
  { revision, erased }: Appended,
  mayBeErased: boolean,
): Promise<boolean> {
  if (revision === 0 || !mayBeErased || !erased) return revision === 0;
  const [before] = await eventLog.readStream(stream, {
    direction: 'backwards',
    from: revision - 1,
    limit: 1,
  });
  return isErasure(before);
}

function undefinedIfConflict(error: unknown): undefined {
  if (!(error instanceof ServiceError && error.code === 'version_conflict')) throw error;
}

/** Appends the first event of a record, or the first after its erasure. Rejects with `version_conflict` when there is a record. */
async function createRecord(
  eventLog: EventLog,
  { stream, event, requireReturn }: RecordAppend,
): Promise<AppendedToRecord> {
  for (let expected: number | 'none' = 'none'; ; ) {
    try {
      const { revision } = await eventLog.append(stream, event, expected);
      return { revision, isNew: true };
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'version_conflict')) throw error;
      const [last] = await eventLog.readStream(stream, { direction: 'backwards', limit: 1 });
      if (last === undefined || !isErasure(last)) throw error;
      await requireReturn?.(last.revision + 1, { isTrial: false });
      expected = last.revision;
    }
  }
}

function isErasure(event: RecordedEvent | undefined): boolean {
  return event !== undefined && erasureStep(event) === 'done';
}

interface ConditionalWritePorts extends RecordPorts {
  readModels: ReadModels;
}

/** A write that is judged by the record's current state. */
interface ConditionalWrite {
  entry: CatalogEntry;
  stream: string;
  condition: WriteCondition;
  unchanged: UnchangedChoice;
  /** Writes nothing, and returns what the result would be. */
  dryRun: boolean;
  states?: RecordStates | undefined;
  foreseen?: ForeseenAppends | undefined;
  requireReturn?: RequireReturn;
  /**
   * Returns the fields to write, given the record's current state, undefined when there is none; called again when someone else
   * wrote in the meantime.
   */
  fieldsFor(state: WriteBase | undefined): Promise<RecordFields> | RecordFields;
  newEvent(sent: RecordFields): NewEvent;
}

/** The actual or, for a dry run, hypothetical result. */
interface ConditionalWriteResult extends DetectedChange {
  /** The record's version after the write. */
  version: number;
  sent: RecordFields;
  /** Whether no event was appended because no field would have changed. */
  isSkipped: boolean;
  /** Whether the record was erased before. */
  wasErased: boolean;
}

/**
 * Judges a write against the fold of the record's stream up to its last event, and appends it directly after that event; judges
 * it again when another event came in between. The stream is read only where the read model's state does not lead to an append that
 * the log accepts: whatever else is the result has to be based on every write acknowledged before. Rejects as `EventLog.append` and
 * `fieldsFor` do, and with `unreadable` when the stream contains an event that cannot be read.
 */
async function writeIfChanged(
  ports: ConditionalWritePorts,
  write: ConditionalWrite,
): Promise<ConditionalWriteResult> {
  const { entry, stream, dryRun, states } = write;
  if (!dryRun && states?.has(stream) !== true) {
    const projected = await projectedState(ports.readModels, stream);
    // A record that is known to exist, and is not projected yet, is at a version that is not known.
    if (projected || !ports.existence.isKnown(stream)) {
      const judged = await judge(write, projected).catch(() => undefined);
      const appended = judged && !judged.isSkipped && (await appendJudged(ports, write, judged));
      if (appended) return judged;
    }
  }
  for (;;) {
    const last = states?.has(stream) ? states.get(stream) : await currentState(ports, entry.kind, stream);
    states?.delete(stream);
    const judged = await judge(write, last);
    if (dryRun && !judged.isSkipped) write.foreseen?.set(stream, foreseenAppend(write, judged));
    if (judged.isSkipped || dryRun || (await appendJudged(ports, write, judged))) return judged;
  }
}

/**
 * Resolves with the result that a write has if this is the record's state. Rejects as `fieldsFor` and `requireReturn` do, and with
 * `version_conflict`.
 */
async function judge(
  { condition, unchanged, dryRun, foreseen, fieldsFor, requireReturn }: ConditionalWrite,
  last: WriteBase | undefined,
): Promise<ConditionalWriteResult> {
  const state = last?.erased ? undefined : last;
  const sent = await fieldsFor(state);
  requireRecord(condition, state);
  // What is foreseen is to be written, however it is refused.
  if (last?.erased) await requireReturn?.(last.version, { isTrial: dryRun && foreseen === undefined });
  const change = detectChange(state, sent);
  const isSkipped = change.outcome === 'unchanged' && unchanged === 'skip';
  const before = last?.version ?? 0;
  const wasErased = last?.erased === true;
  return { ...change, version: isSkipped ? before : before + 1, sent, isSkipped, wasErased };
}

function foreseenAppend(
  { entry, stream, newEvent }: ConditionalWrite,
  { outcome, version, sent, fields }: ConditionalWriteResult,
): ForeseenAppend {
  const expected = version === 1 ? 'none' : version - 2;
  const after = { fields, version };
  return { entry, stream, event: newEvent(sent), expected, isNew: outcome === 'created', after };
}

/** Appends the event that leads to a result; resolves with undefined when the record's stream ends elsewhere. Rejects as `EventLog.append` does. */
function appendJudged(
  { eventLog }: Pick<ConditionalWritePorts, 'eventLog'>,
  { stream, newEvent }: ConditionalWrite,
  { version, sent }: ConditionalWriteResult,
): Promise<Appended | undefined> {
  return appendBehind(eventLog, stream, newEvent(sent), version - 2);
}

/**
 * Changes a record by a JSON Merge Patch (RFC 7396), in one event of the same type as an upsert's. Durable when it resolves.
 * Rejects as `upsertRecord` does, with `not_found` when the record does not exist or was erased, and with `unreadable`.
 */
export async function patchRecord(
  ports: WritePorts,
  caller: Caller,
  entry: CatalogEntry,
  id: string,
  input: unknown,
  options: WriteOptions = {},
): Promise<Written> {
  const { condition = 'any', dryRun = false, unchanged = 'append' } = options;
  const { workspace } = caller;
  const stream = recordStream(workspace, entry.kind, id);
  const earlier = await findPreviousAppend(ports.eventLog, stream, caller);
  const toWarnings = (merged: object, sent: RecordFields, record: RecordFields) =>
    ports.warnings(workspace, entry, merged, sent, record);
  if (earlier) return alreadyPatched(ports, entry, input, earlier, toWarnings);
  let merged: object = {};
  let { wait } = options;
  const { version, outcome, changedFields, isSkipped, sent, fields } = await writeIfChanged(ports, {
    ...{ entry, stream, condition, unchanged, dryRun },
    async fieldsFor(state) {
      if (state === undefined) throw notFound(entry.title);
      const patched = applyPatch(entry, state.fields, input);
      merged = patched.merged;
      const waiting = wait && awaitReferences(ports, caller, entry, patched.sent, wait);
      wait = undefined;
      await waiting;
      await checkReferences(ports.existence, workspace, entry, patched.sent);
      return patched.sent;
    },
    newEvent: (data) => newEvent(caller, entry.eventType, data),
  });
  return { version, outcome, changedFields, isSkipped, warnings: toWarnings(merged, sent, fields) };
}

/** Returns the result of an earlier try of the same request. */
async function alreadyPatched(
  { eventLog }: WritePorts,
  entry: CatalogEntry,
  input: unknown,
  { stream, revision }: RecordedEvent,
  toWarnings: (merged: object, sent: RecordFields, record: RecordFields) => FieldMessage[],
): Promise<Written> {
  const evolve: Evolve<RecordState> = (state, event) => evolveRecord(entry.kind, state, event);
  const before = (await foldStream(eventLog, stream, evolve, { version: revision })) as RecordState;
  const { merged, sent } = applyPatch(entry, before.fields, input);
  const { fields, ...judged } = detectChange(before, sent);
  return { version: revision + 1, ...judged, isSkipped: false, warnings: toWarnings(merged, sent, fields) };
}

export interface Written {
  /** The record's version after the write. */
  version: number;
  /** `unchanged` only if known, that is, if the write was judged. */
  outcome: DetectedChange['outcome'];
  /** For a write that was judged. */
  changedFields?: string[];
  /** For a write that was judged: whether no event was appended because no field would have changed. */
  isSkipped?: boolean;
  warnings: FieldMessage[];
}

/**
 * Returns the warnings for an accepted write in a workspace: about what was sent (`input`, and `sent`, what validation kept of
 * it), and about the `record`, its merged fields after the write, if known.
 */
export type WriteWarnings = (
  workspace: string,
  entry: CatalogEntry,
  input: object,
  sent: RecordFields,
  record: RecordFields | undefined,
) => FieldMessage[];

export interface WritePorts extends ConditionalWritePorts {
  existence: RecordExistence;
  referenceWaits: ReferenceWaits;
  warnings: WriteWarnings;
}

/** Current states of records by their streams, each used for one write. */
export type RecordStates = Map<string, WriteBase | undefined>;

/** Options of a write; without them, the sent fields are appended whatever the record's state. */
export interface WriteOptions {
  condition?: WriteCondition;
  /** Writes nothing, and returns what the result would be. */
  dryRun?: boolean;
  /** What to do when no field changes; default: `append`. */
  unchanged?: UnchangedChoice;
  /** What is known already, as of now. */
  states?: RecordStates;
  /** A dry run adds what it would append. */
  foreseen?: ForeseenAppends;
  /** If set, waits for missing records that it refers to. */
  wait?: ReferenceWait;
}

/**
 * Validates `input`, checks its references, and appends one event with the fields as sent, unless the options say otherwise.
 * Durable when it resolves. Rejects with `validation_failed`, `reference_not_found`, `version_conflict` or `unavailable`; nothing
 * was appended then (with `unavailable` that is not certain, and sending the record again is safe).
 */
export async function upsertRecord(
  ports: WritePorts,
  caller: Caller,
  entry: CatalogEntry,
  input: unknown,
  options: WriteOptions = {},
): Promise<Written> {
  const { existence } = ports;
  const sent = validate(entry.schema, input) as RecordFields;
  const stream = recordStream(caller.workspace, entry.kind, sent.id);
  const valid: ValidUpsert = {
    ...{ entry, stream, sent },
    newEvent: (fields) => newEvent(caller, entry.eventType, fields),
    requireReturn: (version, { isTrial }) =>
      ports.returns.require(caller, entry, { id: sent.id, version, isTrial }),
    warnings: (record) => ports.warnings(caller.workspace, entry, input as object, sent, record),
  };
  if (
    caller.earlier !== undefined &&
    (await findPreviousAppend(ports.eventLog, stream, caller)) !== undefined
  ) {
    // It keeps its place, whatever followed it.
    return upsertBlindly(ports, valid, { isRepeat: true });
  }
  if (options.wait) await awaitReferences(ports, caller, entry, sent, options.wait);
  const checking = checkReferences(existence, caller.workspace, entry, sent);
  if (checking) await checking;
  const isJudged = options.dryRun || options.unchanged === 'skip';
  return isJudged ? upsertIfChanged(ports, valid, options) : upsertBlindly(ports, valid, options);
}

/** An upsert that is valid by itself, and whose references exist. */
export interface ValidUpsert {
  entry: CatalogEntry;
  stream: string;
  sent: RecordFields;
  /** Creates the event with these fields. */
  newEvent(fields: RecordFields): NewEvent;
  requireReturn(...parameters: Parameters<RequireReturn>): Promise<void>;
  /** Returns the warnings for it; `record`: the record's merged fields after the write, if known. */
  warnings(record: RecordFields | undefined): FieldMessage[];
}

/**
 * Carries out an upsert whatever the record's state; `isRepeat`: its event is in the log. Rejects as `EventLog.append` and
 * `RecordReturns.require` do.
 */
export async function upsertBlindly(
  ports: WritePorts,
  valid: ValidUpsert,
  { condition = 'any', isRepeat = false }: Pick<WriteOptions, 'condition'> & { isRepeat?: boolean },
): Promise<Written> {
  const { stream, sent } = valid;
  const isFree = isRepeat || ports.returns.areAllowed(workspaceOfStream(stream));
  const { revision, isNew } = await appendToRecord(ports, {
    ...{ stream, event: valid.newEvent(sent), condition },
    requireReturn: isFree ? undefined : (version, trial) => valid.requireReturn(version, trial),
  });
  if (!ports.existence.isKnown(stream)) ports.existence.remember(stream);
  return writtenBlindly(valid, revision, isNew);
}

/** Returns the result of an upsert that was appended whatever the record's state. */
export function writtenBlindly(valid: ValidUpsert, revision: number, isNew: boolean): Written {
  const outcome = isNew ? 'created' : 'updated';
  const warnings = valid.warnings(isNew ? valid.sent : undefined);
  return { version: revision + 1, outcome, warnings: withErasure(warnings, isNew && revision > 0) };
}

function withErasure(warnings: FieldMessage[], wasErased: boolean): FieldMessage[] {
  return wasErased ? [PREVIOUSLY_ERASED, ...warnings] : warnings;
}

/**
 * Carries out an upsert that depends on the record's state: a dry run, or one that may be skipped. Rejects as `writeIfChanged` does.
 */
export async function upsertIfChanged(
  ports: WritePorts,
  valid: ValidUpsert,
  options: WriteOptions,
): Promise<Written> {
  const { entry, stream, sent } = valid;
  const { condition = 'any', unchanged = 'append', dryRun = false } = options;
  try {
    const { fields, wasErased, ...written } = await writeIfChanged(ports, {
      ...{ entry, stream, condition, unchanged, dryRun },
      ...{ states: options.states, foreseen: options.foreseen },
      requireReturn: (version, trial) => valid.requireReturn(version, trial),
      fieldsFor: () => sent,
      newEvent: (data) => valid.newEvent(data),
    });
    const { version, outcome, changedFields, isSkipped } = written;
    if (!isSkipped && !dryRun) ports.existence.remember(stream);
    const warnings = withErasure(valid.warnings(fields), wasErased);
    return { version, outcome, changedFields, isSkipped, warnings };
  } catch (error) {
    // A record that cannot be read cannot be compared.
    if (error instanceof UnreadableError && !dryRun) return upsertBlindly(ports, valid, options);
    throw error;
  }
}

import type { NewEvent } from '../../../domain/events/event.ts';
import { type Caller, newEvent } from '../../../domain/events/newEvent.ts';
import { recordStream } from '../../../domain/events/streamNames.ts';
import type { UnchangedChoice } from '../../../domain/events/unchangedChoice.ts';
import type { CatalogEntry, RecordFields } from '../../../domain/records/catalog.ts';
import type { Judgement } from '../../../domain/records/judgeChange.ts';
import { validate } from '../../../domain/records/schema/validate.ts';
import { type FieldMessage, UnreadableError } from '../../../platform/errors.ts';
import { findEarlier } from '../../idempotency/findEarlier.ts';
import { appendToRecord } from './appendToRecord.ts';
import { awaitReferences, checkReferences } from './checkReferences.ts';
import type { RecordExistence } from './RecordExistence.ts';
import type { ReferenceWait, ReferenceWaits } from './ReferenceWaits.ts';
import type { WriteCondition } from './writeCondition.ts';
import { type JudgedPorts, writeJudged } from './writeJudged.ts';

export interface Written {
  /** The record's version after the write. */
  version: number;
  /** `unchanged` only if known, that is, if the write was judged. */
  outcome: Judgement['outcome'];
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

export interface WritePorts extends JudgedPorts {
  existence: RecordExistence;
  referenceWaits: ReferenceWaits;
  warnings: WriteWarnings;
}

/** Options of a write; without them, the sent fields are appended whatever the record's state. */
export interface WriteOptions {
  condition?: WriteCondition;
  /** Writes nothing, and returns what the result would be. */
  dryRun?: boolean;
  /** What to do when no field changes; default: `append`. */
  unchanged?: UnchangedChoice;
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
    warnings: (record) => ports.warnings(caller.workspace, entry, input as object, sent, record),
  };
  if (caller.earlier !== undefined && (await findEarlier(ports.eventLog, stream, caller)) !== undefined) {
    // It keeps its place, whatever followed it.
    return upsertBlindly(ports, valid, {});
  }
  if (options.wait) await awaitReferences(ports, caller, entry, sent, options.wait);
  const checking = checkReferences(existence, caller.workspace, entry, sent);
  if (checking) await checking;
  const isJudged = options.dryRun || options.unchanged === 'skip';
  return isJudged ? upsertJudged(ports, valid, options) : upsertBlindly(ports, valid, options);
}

/** An upsert that is valid by itself, and whose references exist. */
export interface ValidUpsert {
  entry: CatalogEntry;
  stream: string;
  sent: RecordFields;
  /** Creates the event with these fields. */
  newEvent(fields: RecordFields): NewEvent;
  /** Returns the warnings for it; `record`: the record's merged fields after the write, if known. */
  warnings(record: RecordFields | undefined): FieldMessage[];
}

async function upsertBlindly(
  ports: WritePorts,
  valid: ValidUpsert,
  { condition = 'any' }: WriteOptions,
): Promise<Written> {
  const { stream, sent } = valid;
  const { revision, isNew } = await appendToRecord(ports, stream, valid.newEvent(sent), condition);
  if (!ports.existence.isKnown(stream)) ports.existence.remember(stream);
  return writtenBlindly(valid, revision, isNew);
}

/** Returns the result of an upsert that was appended whatever the record's state. */
export function writtenBlindly(valid: ValidUpsert, revision: number, isNew: boolean): Written {
  const outcome = isNew ? 'created' : 'updated';
  return { version: revision + 1, outcome, warnings: valid.warnings(isNew ? valid.sent : undefined) };
}

/**
 * Carries out an upsert that depends on the record's state: a dry run, or one that may be skipped. Rejects as `writeJudged` does.
 */
export async function upsertJudged(
  ports: WritePorts,
  valid: ValidUpsert,
  options: WriteOptions,
): Promise<Written> {
  const { entry, stream, sent } = valid;
  const { condition = 'any', unchanged = 'append', dryRun = false } = options;
  try {
    const { version, outcome, changedFields, isSkipped, fields } = await writeJudged(ports, {
      ...{ entry, stream, condition, unchanged, dryRun },
      fieldsFor: () => sent,
      newEvent: (data) => valid.newEvent(data),
    });
    if (!isSkipped && !dryRun) ports.existence.remember(stream);
    return { version, outcome, changedFields, isSkipped, warnings: valid.warnings(fields) };
  } catch (error) {
    // A record that cannot be read cannot be compared.
    if (error instanceof UnreadableError && !dryRun) return upsertBlindly(ports, valid, options);
    throw error;
  }
}

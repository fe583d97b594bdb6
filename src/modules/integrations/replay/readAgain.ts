import { catalogEntry, type RecordFields } from '../../../domain/records/catalog.ts';
import { validate, validationError } from '../../../domain/records/schema/validate.ts';
import { ServiceError } from '../../../platform/errors.ts';
import { referencesOf } from '../../records/commands/checkReferences.ts';
import { Interpreter, isRefused } from '../fhir/Interpreter.ts';
import { contextOf } from '../fhir/resources/contextOf.ts';
import { fieldSentence } from '../fieldSentence.ts';
import { mapMessage } from '../hl7/mapMessage.ts';
import { parseMessage } from '../hl7/parseMessage.ts';
import type { Message, MessageState } from '../messages/message.ts';
import { orderTimeOf } from '../messages/orderTimeOf.ts';
import type { Operation, RecordOperation } from '../operation.ts';
import type { Source } from '../source.ts';
import type { MappedRecords } from './MappedRecords.ts';
import { readKeptFhir } from './readKept.ts';

/** What is wrong with a message, without any value. */
export interface ReadProblem {
  at: string;
  text: string;
}

/** A message as read by a configuration of its source. */
export interface ReadMessage {
  /** The result that it would have: with `rejected` there are no operations. */
  state: Exclude<MessageState, 'received'>;
  /** What it says about records; documents stay where they are. */
  operations: RecordOperation[];
  problems: ReadProblem[];
}

/** How a message is read. */
export interface Reading {
  source: Source;
  /** A sandbox also accepts test messages. */
  isSandbox: boolean;
  /** The records as they were when it arrived, by the same reading. */
  records: MappedRecords;
  /** Resolves with whether a record exists by now. */
  isThere(kind: string, id: string): Promise<boolean>;
}

/** Reads a kept message without writing. Rejects with `unavailable`. */
export async function readAgain(message: Message, bytes: Buffer, reading: Reading): Promise<ReadMessage> {
  const said = message.format === 'fhir' ? await readFhir(message, bytes, reading) : readHl7(bytes, reading);
  const records = said.operations.filter((one) => one.type === 'record');
  const made = new Set(records.map(({ kind, fields }) => nameOf(kind, fields.id)));
  const problems = [...said.problems];
  const taken: RecordOperation[] = [];
  for (const operation of records) {
    try {
      taken.push(await valid(message.workspace, operation, made, reading));
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code === 'unavailable') throw error;
      problems.push(...problemsOf(operation, error));
    }
  }
  if (problems.length === 0) return { state: 'accepted', operations: taken, problems };
  const isPart = !said.isAtomic && taken.length > 0;
  return isPart
    ? { state: 'partly', operations: taken, problems }
    : { state: 'rejected', operations: [], problems };
}

interface Said {
  operations: readonly Operation[];
  problems: ReadProblem[];
  isAtomic: boolean;
}

function readHl7(bytes: Buffer, { source, isSandbox }: Reading): Said {
  const said = mapMessage(parseMessage(bytes), { ...source, maySendTests: isSandbox });
  if (!('refused' in said)) return { operations: said.operations, problems: [], isAtomic: true };
  const errors = said.issues.filter(({ severity }) => severity === 'error');
  const problems = errors.map(({ location = '', text }) => ({ at: location, text }));
  return { operations: [], problems, isAtomic: true };
}

async function readFhir(message: Message, bytes: Buffer, { source, records }: Reading): Promise<Said> {
  const { entries, isAtomic, unread } = readKeptFhir(message, bytes);
  const context = contextOf(source, Date.parse(orderTimeOf(message)));
  const interpreted = await new Interpreter(records, context).interpret(entries);
  const problems = interpreted.entries
    .filter(isRefused)
    .flatMap(({ entry: { at }, issues }) =>
      issues
        .filter(({ severity }) => severity === 'error')
        .map(({ expression, diagnostics }) => ({ at: at || expression, text: diagnostics })),
    );
  const unreadable = { at: '', text: 'Some of its entries or lines cannot be read.' };
  return {
    operations: interpreted.operations,
    problems: unread > 0 ? [unreadable, ...problems] : problems,
    isAtomic,
  };
}

/**
 * Resolves with the operation, its fields in the form that events have. Rejects with `validation_failed` and
 * `unavailable`.
 */
async function valid(
  workspace: string,
  operation: RecordOperation,
  made: ReadonlySet<string>,
  { records, isThere }: Reading,
): Promise<RecordOperation> {
  const entry = catalogEntry(operation.kind);
  const fields = validate(entry.schema, operation.fields) as RecordFields;
  for (const { field, kind, id, title } of referencesOf(workspace, entry, fields)) {
    if (made.has(nameOf(kind, id)) || (await records.current(kind, id)) || (await isThere(kind, id)))
      continue;
    throw validationError([{ field, message: `refers to a ${title.toLowerCase()} that does not exist` }]);
  }
  return { ...operation, fields };
}

function problemsOf({ at, kind }: RecordOperation, { details = [], message }: ServiceError): ReadProblem[] {
  if (details.length === 0) return [{ at, text: message }];
  return details.map(({ field, message: text }) => ({ at, text: fieldSentence(`${kind}.${field}`, text) }));
}

function nameOf(kind: string, id: string): string {
  return JSON.stringify([kind, id]);
}

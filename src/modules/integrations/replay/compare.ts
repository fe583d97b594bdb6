import { v7 as uuidv7 } from 'uuid';
import { canonicalJson } from '../../../domain/events/canonicalJson.ts';
import type { EventSource } from '../../../domain/events/event.ts';
import type { Caller } from '../../../domain/events/newEvent.ts';
import { catalog, catalogEntry } from '../../../domain/records/catalog.ts';
import { diffFields, type FieldChange, mergeFields } from '../../../domain/records/fold.ts';
import type { RecordFields } from '../../../domain/records/schema/kind.ts';
import { validate, validationError } from '../../../domain/records/schema/validation.ts';
import { ServiceError } from '../../../platform/errors.ts';
import type { KeyDirectory } from '../../auth/keyDirectory.ts';
import { referencesOf } from '../../records/commands/references.ts';
import { patchRecord, upsertRecord, type Written } from '../../records/commands/upsert.ts';
import type { QueryPorts } from '../../records/queries/records.ts';
import { Interpreter, isRefused } from '../fhir/interpreter.ts';
import { type FhirRecords, workspaceRecords } from '../fhir/references.ts';
import { contextOf } from '../fhir/resources/index.ts';
import { fieldSentence } from '../fields.ts';
import { parseMessage } from '../hl7/parser.ts';
import { mapMessage } from '../hl7/triggerEvents.ts';
import { type Message, type MessageState, orderTimeOf } from '../messages/message.ts';
import type { MessageStore } from '../messages/store.ts';
import { type Operation, type RecordOperation, saidOf } from '../operations.ts';
import { readConfigurations, type Source } from '../sources.ts';
import { bytesOf, readStoredFhir, sourceAt } from './lineage.ts';
import { isBefore, type OtherWrite, OtherWrites, type ReplayPorts } from './resend.ts';

const noFields = {} as RecordFields;

/** A record as a mapping creates it from messages, interleaved with what others wrote. */
interface MappedRecord {
  kind: string;
  id: string;
  /** Undefined where there is none. */
  fields: RecordFields | undefined;
  /** What messages, and nobody else, say about it: `null` where they clear a field. */
  mapped: RecordFields;
  /** The messages that concern it, oldest first. */
  messages: string[];
}

interface Underway extends MappedRecord {
  /** Of the writes of others: those that come later. */
  later: OtherWrite[];
}

/**
 * The records of a workspace as one mapping creates them: what messages say, and what others wrote, in the order of
 * their times.
 */
class MappedRecords implements FhirRecords {
  readonly havingNumber: FhirRecords['havingNumber'];
  readonly #others: OtherWrites;
  readonly #records = new Map<string, Promise<Underway>>();
  #message = { id: '', at: '' };

  constructor(others: OtherWrites, havingNumber: FhirRecords['havingNumber']) {
    this.#others = others;
    this.havingNumber = havingNumber;
  }

  /** Begins a message, with the time at which it arrived. */
  begin(id: string, at: string): void {
    this.#message = { id, at };
  }

  async current(kind: string, id: string): Promise<{ version: number; fields: RecordFields } | undefined> {
    const { fields } = await this.#upTo(kind, id, this.#message.at);
    return fields && { version: 1, fields };
  }

  /** Writes what the message says about a record. */
  async write(operation: RecordOperation): Promise<void> {
    const { kind, ifAbsent } = operation;
    const record = await this.#upTo(kind, operation.fields.id, this.#message.at);
    // What is mentioned in passing gives way to what others wrote, even later.
    if (ifAbsent && (record.fields !== undefined || record.later.length > 0)) return;
    const said = saidOf(operation, record.fields);
    if (said === undefined) return;
    const { fields } = said;
    record.fields = mergeFields(record.fields ?? noFields, fields);
    record.mapped = { ...record.mapped, ...fields };
    record.messages.push(this.#message.id);
  }

  /** Resolves with the kinds and ids of the records that messages concern. */
  async records(): Promise<{ kind: string; id: string }[]> {
    const all = await Promise.all(this.#records.values());
    return all.filter(({ messages }) => messages.length > 0).map(({ kind, id }) => ({ kind, id }));
  }

  /** Resolves with a record after all messages, and all that others wrote. */
  ended(kind: string, id: string): Promise<MappedRecord> {
    return this.#upTo(kind, id, undefined);
  }

  async #upTo(kind: string, id: string, at: string | undefined): Promise<Underway> {
    const name = JSON.stringify([kind, id]);
    const loading = this.#records.get(name) ?? this.#load(kind, id);
    this.#records.set(name, loading);
    const record = await loading;
    for (let [next] = record.later; next && (at === undefined || next.at <= at); [next] = record.later) {
      record.fields = next.fields && mergeFields(record.fields ?? noFields, next.fields);
      record.later.shift();
    }
    return record;
  }

  async #load(kind: string, id: string): Promise<Underway> {
    const { others } = await this.#others.of(kind, id);
    return { kind, id, fields: undefined, mapped: noFields, messages: [], later: [...others] };
  }
}

/** A record that was created or corrected, at the resulting version. */
interface AppliedRecord {
  kind: string;
  id: string;
  outcome: 'created' | 'updated' | 'unchanged';
  version: number;
}

/** The result of applying a comparison. */
export interface AppliedComparison {
  applied: AppliedRecord[];
  /** What was not written, and why: it can be tried again. */
  refused: { kind: string; id: string; text: string }[];
}

/**
 * Appends the result of a comparison, one event per record: first the records to be created, starting with those that
 * others refer to, then the corrections, each conditional on the version that was compared. Every event names the
 * last message that led to it, and the configuration. From then on the messages count as read by that configuration.
 * Rejects with `not_found` where a message no longer exists, and with `unavailable`; a new comparison then finds what
 * is left.
 */
export async function applyComparison(
  ports: ReplayPorts,
  caller: Caller,
  source: Required<Omit<EventSource, 'message'>>,
  { changed, made, taken }: MappingComparison,
): Promise<AppliedComparison> {
  const corrected = changed.filter(({ changes }) => changes.length > 0);
  await relate(ports, caller.workspace, [...made, ...corrected]);
  const result: AppliedComparison = { applied: [], refused: [] };
  const unsettled = new Set<string>();
  const write = async (
    { kind, id, messages }: MadeRecord | ChangedRecord,
    append: (own: Caller) => Promise<Written>,
  ) => {
    const message = messages.at(-1) as string;
    // One of several events of a request, each with an id of its own.
    const earlier = { eventId: uuidv7(), appended: false };
    try {
      const { outcome, version } = await append({ ...caller, earlier, source: { ...source, message } });
      result.applied.push({ kind, id, outcome, version });
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code === 'unavailable') throw error;
      result.refused.push({ kind, id, text: error.message });
      for (const one of messages) unsettled.add(one);
    }
  };
  for (const one of made) {
    await write(one, (own) =>
      upsertRecord(ports, own, catalogEntry(one.kind), one.fields, { condition: 'none' }),
    );
  }
  for (const one of corrected) {
    const options = { condition: one.version - 1, unchanged: 'skip' } as const;
    await write(one, (own) => patchRecord(ports, own, catalogEntry(one.kind), one.id, patchOf(one), options));
  }
  for (const id of taken) if (!unsettled.has(id)) await ports.messages.readBy({ id }, source.configuration);
  return result;
}

/** From then on the messages lead to the records, so that erasing one of these finds them. */
async function relate(
  { messages }: ReplayPorts,
  workspace: string,
  records: readonly (MadeRecord | ChangedRecord)[],
): Promise<void> {
  const byMessage = new Map<string, { kind: string; id: string }[]>();
  for (const { kind, id, messages: tellers } of records) {
    for (const message of tellers) {
      byMessage.set(message, [...(byMessage.get(message) ?? []), { kind, id }]);
    }
  }
  for (const [id, about] of byMessage) await messages.relate({ workspace, id }, about);
}

/** Returns the patch (RFC 7396) that corrects a record: for an insurance, including what it no longer has. */
function patchOf({ corrections, changes }: ChangedRecord): Record<string, unknown> {
  const patch = structuredClone(corrections);
  for (const { field, to } of changes) {
    const [outer = '', inner] = field.split('.');
    const nested = patch[outer];
    if (to !== null || inner === undefined || typeof nested !== 'object' || nested === null) continue;
    Object.assign(nested, { [inner]: null });
  }
  return patch;
}

/** A record as a mapping creates it. */
type MappedSide = Pick<MappedRecord, 'fields' | 'mapped'>;

/** What another mapping means for an existing record. */
interface RecordComparison {
  /**
   * Fields whose value is still what the mapping in force set, with the values that the other one would set; `null`
   * for none.
   */
  corrections: Record<string, unknown>;
  /** The same, field by field. */
  changes: FieldChange[];
  /** Fields that the other mapping would set differently, and that somebody has changed since: they stay. */
  changedSince: FieldChange[];
}

/**
 * Compares three states: a record as it is, as the mapping in force creates it, and as another one does. Where the
 * mappings differ on a field, its value is corrected only if it is that of the mapping in force.
 */
export function compareRecord(
  present: RecordFields,
  before: MappedSide,
  after: MappedSide,
): RecordComparison {
  const names = new Set([...Object.keys(before.fields ?? {}), ...Object.keys(after.fields ?? {})]);
  const corrected: string[] = [];
  const since: Record<string, unknown> = {};
  for (const name of names) {
    const [is, was, willBe] = [present[name], before.fields?.[name], after.fields?.[name]];
    if (isSame(was, willBe)) {
      // A later write by somebody else made them equal.
      const mapped = after.mapped[name];
      const isRemapped = mapped !== undefined && !isSame(mapped, before.mapped[name]);
      if (isRemapped && !isSame(mapped, is)) since[name] = mapped;
    } else if (isSame(is, willBe)) continue;
    else if (isSame(is, was)) corrected.push(name);
    else since[name] = willBe;
  }
  const corrections = Object.fromEntries(corrected.map((name) => [name, after.fields?.[name] ?? null]));
  return {
    corrections,
    changes: changesOf(present, corrections),
    changedSince: changesOf(present, since),
  };
}

function changesOf(present: RecordFields, wanted: Record<string, unknown>): FieldChange[] {
  const names = Object.keys(wanted);
  const of = (fields: Record<string, unknown>) =>
    Object.fromEntries(names.flatMap((name) => (fields[name] == null ? [] : [[name, fields[name]]])));
  return diffFields(of(present) as RecordFields, of(wanted) as RecordFields);
}

function isSame(one: unknown, other: unknown): boolean {
  return canonicalJson([withoutNone(one)]) === canonicalJson([withoutNone(other)]);
}

/** What is cleared and what never existed are equal: also within an insurance. */
function withoutNone(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value ?? null;
  return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner != null));
}

/** What is wrong with a message, without any value. */
interface ReadProblem {
  at: string;
  text: string;
}

/** A message as read by a configuration of its source. */
interface ReadMessage {
  /** The result that it would have: with `rejected` there are no operations. */
  state: Exclude<MessageState, 'received'>;
  /** What it says about records; documents stay where they are. */
  operations: RecordOperation[];
  problems: ReadProblem[];
}

/** How a message is read. */
interface Reading {
  source: Source;
  /** A sandbox also accepts test messages. */
  isSandbox: boolean;
  /** The records as they were when it arrived, by the same reading. */
  records: MappedRecords;
  /** Resolves with whether a record exists by now. */
  isThere(kind: string, id: string): Promise<boolean>;
}

/** Reads a kept message without writing. Rejects with `unavailable`. */
async function readAgain(message: Message, bytes: Buffer, reading: Reading): Promise<ReadMessage> {
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

interface MessageReading {
  operations: readonly Operation[];
  problems: ReadProblem[];
  isAtomic: boolean;
}

function readHl7(bytes: Buffer, { source, isSandbox }: Reading): MessageReading {
  const said = mapMessage(parseMessage(bytes), { ...source, maySendTests: isSandbox });
  if (!('refused' in said)) return { operations: said.operations, problems: [], isAtomic: true };
  const errors = said.issues.filter(({ severity }) => severity === 'error');
  const problems = errors.map(({ location = '', text }) => ({ at: location, text }));
  return { operations: [], problems, isAtomic: true };
}

async function readFhir(
  message: Message,
  bytes: Buffer,
  { source, records }: Reading,
): Promise<MessageReading> {
  const { entries, isAtomic, unread } = readStoredFhir(message, bytes);
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

/** An existing record that the candidate would make differently. */
interface ChangedRecord extends RecordComparison {
  kind: string;
  id: string;
  /** The version that was compared. */
  version: number;
  /** Those that concern it according to the candidate, oldest first. */
  messages: string[];
}

/** A record that does not exist, and that the candidate would create. */
interface MadeRecord {
  kind: string;
  id: string;
  fields: RecordFields;
  messages: string[];
}

/** A message whose result the candidate would change. */
interface ChangedResult {
  message: string;
  received_at: string;
  from: MessageState;
  to: MessageState;
  problems: ReadProblem[];
}

/** What a candidate for the configuration of a source would have made of the kept messages. */
export interface MappingComparison {
  /** How many were read. */
  messages: number;
  changed: ChangedRecord[];
  /** In an order in which each comes after those that it refers to. */
  made: MadeRecord[];
  /** Records that the candidate no longer names: they stay as they are. */
  left: { kind: string; id: string }[];
  otherwise: ChangedResult[];
  /** The messages from which the candidate would take everything that was taken. */
  taken: string[];
}

export interface CandidateMapping {
  workspace: { id: string; sandbox?: boolean };
  /** Id of the source whose messages are read. */
  sourceId: string;
  candidate: Source;
  /** How many messages to read, the last ones. */
  last: number;
}

interface ComparePorts extends QueryPorts {
  messages: MessageStore;
  directory: Pick<KeyDirectory, 'known'>;
}

/**
 * Reads the last messages of a source twice, oldest first: each as the source was configured when it was read, and as
 * the candidate would have it, and compares what both make of the records with the existing ones. Nothing is written.
 * Messages that were not accepted are reported, and change nothing; for one that only the candidate would refuse,
 * what it said stays. Rejects with `unavailable` and `unreadable`.
 */
export async function compareMappings(
  ports: ComparePorts,
  mapping: CandidateMapping,
): Promise<MappingComparison> {
  const { workspace, candidate } = mapping;
  const messages = await lastMessages(ports.messages, mapping);
  const others = new OtherWrites(ports.eventLog, workspace.id, new Set(messages.map(({ id }) => id)));
  const { havingNumber } = workspaceRecords(ports, workspace.id);
  const [before, after] = [new MappedRecords(others, havingNumber), new MappedRecords(others, havingNumber)];
  const isThere = async (kind: string, id: string) => (await others.of(kind, id)).present !== undefined;
  const configurations = await readConfigurations(ports.eventLog, workspace.id);
  const otherwise: ChangedResult[] = [];
  const takenWhole: string[] = [];
  for (const message of messages) {
    const bytes = await bytesOf(ports.messages, message);
    for (const records of [before, after]) records.begin(message.id, orderTimeOf(message));
    const readBy = (source: Source, records: MappedRecords) =>
      readAgain(message, bytes, { source, records, isThere, isSandbox: workspace.sandbox === true });
    const was = await readBy(sourceAt(configurations, message, ports.directory.known) ?? candidate, before);
    const willBe = await readBy(candidate, after);
    const { from, to } = { from: message.state, to: willBe.state };
    if (from !== to && from !== 'received' && message.corrected_by === undefined) {
      const { id, received_at } = message;
      otherwise.push({ message: id, received_at, from, to, problems: willBe.problems });
    }
    if (wasAccepted(message) && (to === 'accepted' || to === from)) takenWhole.push(message.id);
    const taken = writtenOperations(message, was);
    for (const operation of taken) await before.write(operation);
    for (const operation of resultInstead(message, taken, willBe)) await after.write(operation);
  }
  return {
    messages: messages.length,
    otherwise,
    taken: takenWhole,
    ...(await compared(others, before, after)),
  };
}

/** Resolves with the last messages of a source, oldest first. */
async function lastMessages(
  messages: MessageStore,
  { workspace, sourceId, candidate, last }: CandidateMapping,
): Promise<Message[]> {
  const found: Message[] = [];
  for await (const message of messages.all(workspace.id)) {
    if (message.source === sourceId && message.format === candidate.format) found.push(message);
    if (found.length >= last) break;
  }
  return found.toSorted((one, other) => (isBefore(one, other) ? -1 : 1));
}

function wasAccepted({ state }: Message): boolean {
  return state === 'accepted' || state === 'partly';
}

/** Returns what was written from a message. */
function writtenOperations(message: Message, { operations }: ReadMessage): RecordOperation[] {
  const { about } = message;
  if (!wasAccepted(message)) return [];
  return operations.filter((one) => !isRefusedIn(about, one));
}

/** Returns what would have been written from it. */
function resultInstead(
  message: Message,
  taken: readonly RecordOperation[],
  { state: willBe, operations }: ReadMessage,
): readonly RecordOperation[] {
  const { about } = message;
  if (!wasAccepted(message)) return [];
  if (willBe === 'rejected') return taken;
  const accepted = operations.filter((one) => !isRefusedIn(about, one));
  if (willBe === 'accepted') return accepted;
  const named = new Set(accepted.map(({ kind, fields }) => JSON.stringify([kind, fields.id])));
  return [...accepted, ...taken.filter(({ kind, fields }) => !named.has(JSON.stringify([kind, fields.id])))];
}

function isRefusedIn(about: Message['about'], { kind, fields }: RecordOperation): boolean {
  return about.some((one) => one.kind === kind && one.id === fields.id && one.outcome === 'refused');
}

async function compared(
  others: OtherWrites,
  before: MappedRecords,
  after: MappedRecords,
): Promise<Pick<MappingComparison, 'changed' | 'made' | 'left'>> {
  const changed: ChangedRecord[] = [];
  const made: MadeRecord[] = [];
  const left: MappingComparison['left'] = [];
  const named = await after.records();
  for (const { kind, id } of named) {
    const { present } = await others.of(kind, id);
    const { messages, ...willBe } = await after.ended(kind, id);
    if (present === undefined) {
      if (willBe.fields) made.push({ kind, id, fields: willBe.fields, messages });
      continue;
    }
    const comparison = compareRecord(present.fields, await before.ended(kind, id), willBe);
    if (comparison.changes.length + comparison.changedSince.length === 0) continue;
    changed.push({ kind, id, version: present.version, messages, ...comparison });
  }
  const isNamed = new Set(named.map(({ kind, id }) => JSON.stringify([kind, id])));
  for (const { kind, id } of await before.records()) {
    const isThere = (await others.of(kind, id)).present !== undefined;
    if (isThere && !isNamed.has(JSON.stringify([kind, id]))) left.push({ kind, id });
  }
  const place = (kind: string) => catalog.findIndex((entry) => entry.kind === kind);
  return { changed, made: made.toSorted((a, b) => place(a.kind) - place(b.kind)), left };
}

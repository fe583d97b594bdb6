import { catalog, type RecordFields } from '../../../domain/records/catalog.ts';
import type { KeyDirectory } from '../../auth/KeyDirectory.ts';
import type { QueryPorts } from '../../records/queries/readRecord.ts';
import { readConfigurations } from '../configurations.ts';
import { workspaceRecords } from '../fhir/workspaceRecords.ts';
import type { MessageStore } from '../messages/MessageStore.ts';
import type { Message, MessageState } from '../messages/message.ts';
import { orderTimeOf } from '../messages/orderTimeOf.ts';
import type { RecordOperation } from '../operation.ts';
import type { Source } from '../source.ts';
import { compareRecord, type RecordComparison } from './compareRecord.ts';
import { isBefore } from './guardNewer.ts';
import { MappedRecords } from './MappedRecords.ts';
import { OtherWrites } from './OtherWrites.ts';
import { type ReadMessage, type ReadProblem, readAgain } from './readAgain.ts';
import { bytesOf } from './readKept.ts';
import { sourceAt } from './sourceAt.ts';

/** An existing record that the candidate would make differently. */
export interface ChangedRecord extends RecordComparison {
  kind: string;
  id: string;
  /** The version that was compared. */
  version: number;
  /** Those that concern it according to the candidate, oldest first. */
  messages: string[];
}

/** A record that does not exist, and that the candidate would create. */
export interface MadeRecord {
  kind: string;
  id: string;
  fields: RecordFields;
  messages: string[];
}

/** A message whose result the candidate would change. */
export interface OtherwiseTaken {
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
  otherwise: OtherwiseTaken[];
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
  const otherwise: OtherwiseTaken[] = [];
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
    if (wasTaken(message) && (to === 'accepted' || to === from)) takenWhole.push(message.id);
    const taken = takenOf(message, was);
    for (const operation of taken) await before.write(operation);
    for (const operation of takenInstead(message, taken, willBe)) await after.write(operation);
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

function wasTaken({ state }: Message): boolean {
  return state === 'accepted' || state === 'partly';
}

/** Returns what was written from a message. */
function takenOf(message: Message, { operations }: ReadMessage): RecordOperation[] {
  const { about } = message;
  if (!wasTaken(message)) return [];
  return operations.filter((one) => !isRefusedIn(about, one));
}

/** Returns what would have been written from it. */
function takenInstead(
  message: Message,
  taken: readonly RecordOperation[],
  { state: willBe, operations }: ReadMessage,
): readonly RecordOperation[] {
  const { about } = message;
  if (!wasTaken(message)) return [];
  if (willBe === 'rejected') return taken;
  const told = operations.filter((one) => !isRefusedIn(about, one));
  if (willBe === 'accepted') return told;
  const named = new Set(told.map(({ kind, fields }) => JSON.stringify([kind, fields.id])));
  return [...told, ...taken.filter(({ kind, fields }) => !named.has(JSON.stringify([kind, fields.id])))];
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
  const named = await after.told();
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
  for (const { kind, id } of await before.told()) {
    const isThere = (await others.of(kind, id)).present !== undefined;
    if (isThere && !isNamed.has(JSON.stringify([kind, id]))) left.push({ kind, id });
  }
  const place = (kind: string) => catalog.findIndex((entry) => entry.kind === kind);
  return { changed, made: made.toSorted((a, b) => place(a.kind) - place(b.kind)), left };
}

import { isDeepStrictEqual } from 'node:util';
import type { Position, RecordedEvent } from '../../../domain/events/event.ts';
import { kindOfStream } from '../../../domain/events/streams.ts';
import { catalogEntry } from '../../../domain/records/catalog.ts';
import type { DocumentState } from '../../../domain/records/document.ts';
import { diffFields, dottedFields, type RecordState } from '../../../domain/records/fold.ts';
import type { RecordFields } from '../../../domain/records/schema/kind.ts';
import type { EventLog } from '../../../storage/eventLog.ts';
import { foldStream } from './records.ts';
import {
  documentFields,
  documentFold,
  inSelectedStreams,
  type LaterWrite,
  laterWrite,
  recordFold,
  type SelectedRecord,
  type Selector,
  selectedOf,
  selector,
  subjectOf,
  type Unmade,
  type WriteSelection,
  writeOf,
} from './selectedWrites.ts';

/** A field that the selected writes changed, and the last of those that did; fields of an insurance are dotted. */
export interface ChangedField extends LaterWrite {
  field: string;
  /** The value that it would have had without the selected writes; `null`: none. */
  from: unknown;
  /** The value of the last selected write; `null`: none. */
  to: unknown;
  /** The last write of the field by others since, and the value now. */
  since?: LaterWrite & { value: unknown };
}

/** What the selected writes changed in a record or a document. */
export interface ChangedRecord extends SelectedRecord {
  /** Whether the selected writes created it, and whether what they wrote was erased. */
  created: boolean;
  erased: boolean;
  /** Whether it has an event that cannot be read, so that what changed is unknown. */
  unreadable: boolean;
  /** The erasure, if it was erased and not written since. */
  erasure?: LaterWrite;
  fields: ChangedField[];
}

/**
 * Yields what the selected writes of a workspace changed, some records at a time: what an undo of them would have to revert. Fields
 * that they set to the value from before are left out. `after`: only records whose first selected write is after this position.
 * Rejects with `unavailable`.
 */
export function readChanges(
  eventLog: EventLog,
  workspace: string,
  selection: WriteSelection,
  after: Position,
): AsyncGenerator<ChangedRecord[]> {
  const isSelected = selector(selection);
  const question: Question = {
    ...{ isSelected, isWanted: () => true },
    isErased: ({ wasErased }) => wasErased,
  };
  return changesInStreams(eventLog, workspace, selection, question, after);
}

function changesInStreams(
  eventLog: EventLog,
  workspace: string,
  selection: WriteSelection,
  question: Question,
  after: Position,
): AsyncGenerator<ChangedRecord[]> {
  return inSelectedStreams(eventLog, workspace, selection, question.isSelected, {
    after,
    look: (stream) => streamChanges(eventLog, stream, question),
    unreadable: (subject) => ({ ...subject, unreadable: true, created: false, erased: false, fields: [] }),
  });
}

/** What is asked of each stream with selected writes. */
interface Question {
  isSelected: Selector;
  /** The fold ends before the first event that was recorded later: ISO 8601, UTC. Default: none. */
  until?: string;
  /** Which fields are wanted, by the last selected write that changed them. */
  isWanted(write: RecordedEvent): boolean;
  /** Whether it counts as erased. */
  isErased(unmade: Pick<AnyUnmade, 'wasErased' | 'erasure'>): boolean;
}

type AnyUnmade = Unmade<RecordState | DocumentState, unknown>;

async function streamChanges(
  eventLog: EventLog,
  stream: string,
  question: Question,
): Promise<ChangedRecord | undefined> {
  const { isSelected, until } = question;
  const kind = kindOfStream(stream);
  const isWanted = ({ recordedAt }: RecordedEvent) => until === undefined || recordedAt <= until;
  if (kind === 'document') {
    const unmade = await foldStream(eventLog, stream, documentFold(isSelected), { isWanted });
    return unmade && changesOf(stream, unmade, documentFields(unmade.state), question);
  }
  const unmade = await foldStream(eventLog, stream, recordFold(catalogEntry(kind), isSelected), { isWanted });
  return unmade && changesOf(stream, unmade, dottedFields(unmade.state.fields), question);
}

/** Undefined when every selected write was without effect. `now`: the values, by the dotted names of their fields. */
function changesOf(
  stream: string,
  unmade: AnyUnmade,
  now: ReadonlyMap<string, unknown>,
  { isWanted, isErased }: Question,
): ChangedRecord | undefined {
  const { isCreated, touched, erasure } = unmade;
  const erased = isErased(unmade);
  const fields = [...touched].flatMap(([name, { write, later }]): ChangedField[] => {
    if (write === undefined || isDeepStrictEqual(write.from, write.to) || !isWanted(write.event)) return [];
    const [before, after] = [write.from, write.to].map((value) => ({ [name]: value }) as RecordFields);
    return diffFields(before, after as RecordFields).map((change) => ({
      ...{ ...change, ...laterWrite(write.event) },
      ...(later && { since: { ...laterWrite(later), value: now.get(change.field) ?? null } }),
    }));
  });
  if (fields.length === 0 && !erased) return undefined;
  return {
    ...{ ...subjectOf(stream), ...selectedOf(unmade) },
    ...{ created: isCreated, erased, unreadable: false, fields },
    ...(erasure && { erasure: laterWrite(erasure) }),
  };
}

/** Which differences are asked for: between two moments (ISO 8601, UTC), by whom, of which kinds. */
export type DifferenceSelection = WriteSelection & { since: string; until: string };

/**
 * Yields what is different in a workspace at `until` from what it was at `since`, some records at a time: what everything written in
 * between changed. A field that was changed back is no difference. Of a record that was erased in between, only that; nothing of what
 * was erased later. A sender, source or request selects fields by the last write of each. `after`: only records whose first write in
 * between is after this position. Rejects with `unavailable`.
 */
export function readDifferences(
  eventLog: EventLog,
  workspace: string,
  { since, until, kinds, ...by }: DifferenceSelection,
  after: Position,
): AsyncGenerator<ChangedRecord[]> {
  const isSelected: Selector = ({ recordedAt }) => recordedAt > since && recordedAt <= until;
  const isBy = selector(by);
  const question: Question = {
    ...{ isSelected, until },
    isWanted: (write) => isBy(writeOf(write)),
    isErased: ({ erasure }) =>
      erasure !== undefined && isSelected(writeOf(erasure)) && isBy(writeOf(erasure)),
  };
  const written = { since, until, ...(kinds && { kinds }) };
  return changesInStreams(eventLog, workspace, written, question, after);
}

import { isDeepStrictEqual } from 'node:util';
import type { Position } from '../../../domain/events/event.ts';
import { documentIdsOf, kindOfStream, recordIdOf } from '../../../domain/events/streams.ts';
import { catalogEntry } from '../../../domain/records/catalog.ts';
import type { DocumentState } from '../../../domain/records/document.ts';
import { diffFields, dottedFields, type RecordState } from '../../../domain/records/fold.ts';
import type { RecordFields } from '../../../domain/records/schema/kind.ts';
import type { EventLog } from '../../../storage/eventLog.ts';
import { foldStream } from './records.ts';
import {
  documentFold,
  filenameOf,
  inSelectedStreams,
  type LaterWrite,
  laterWrite,
  recordFold,
  type Selector,
  selector,
  type Unmade,
  versionsOf,
  type WriteSelection,
} from './selectedWrites.ts';

/** A field that the selected writes changed; fields of an insurance are dotted. */
export interface ChangedField {
  field: string;
  /** The value that it would have had without the selected writes; `null`: none. */
  from: unknown;
  /** The value of the last selected write; `null`: none. */
  to: unknown;
  /** The version of that write, and when it was recorded: ISO 8601, UTC. */
  version: number;
  at: string;
  /** The last write of the field by others since, and the value now. */
  since?: LaterWrite & { value: unknown };
}

/** What the selected writes changed in a record or a document. */
export interface ChangedRecord {
  /** The kind of a record, or `document`. */
  kind: string;
  /** For a document: that of its encounter. */
  id: string;
  document_id?: string;
  /** Whether the selected writes created it, and whether what they wrote was erased. */
  created: boolean;
  erased: boolean;
  fields: ChangedField[];
  /** The versions that they wrote, and the positions of their events. */
  versions: { version: number; position: Position }[];
}

/**
 * Yields what the selected writes of a workspace changed, some records at a time: what an undo of them would have to revert. Fields
 * that they set to the value from before are left out. `after`: a position before which no selected write is. Rejects with
 * `unavailable`.
 */
export function readChanges(
  eventLog: EventLog,
  workspace: string,
  selection: WriteSelection,
  after: Position,
): AsyncGenerator<ChangedRecord[]> {
  const isSelected = selector(selection);
  return inSelectedStreams(eventLog, workspace, selection, isSelected, {
    after,
    look: (stream) =>
      kindOfStream(stream) === 'document'
        ? documentChanges(eventLog, stream, isSelected)
        : recordChanges(eventLog, stream, isSelected),
  });
}

async function recordChanges(
  eventLog: EventLog,
  stream: string,
  isSelected: Selector,
): Promise<ChangedRecord | undefined> {
  const entry = catalogEntry(kindOfStream(stream));
  const unmade = await foldStream(eventLog, stream, recordFold(entry, isSelected));
  const about = { kind: entry.kind, id: recordIdOf(stream) };
  return unmade && changesOf(about, unmade, dottedFields(unmade.state.fields));
}

async function documentChanges(
  eventLog: EventLog,
  stream: string,
  isSelected: Selector,
): Promise<ChangedRecord | undefined> {
  const { encounterId, documentId } = documentIdsOf(stream);
  const unmade = await foldStream(eventLog, stream, documentFold(isSelected));
  const about = { kind: 'document', id: encounterId, document_id: documentId };
  return unmade && changesOf(about, unmade, new Map([['file', filenameOf(unmade.state)]]));
}

/** Undefined when every selected write was without effect. `now`: the values, by the dotted names of their fields. */
function changesOf(
  about: Pick<ChangedRecord, 'kind' | 'id' | 'document_id'>,
  { isCreated, wasErased, touched, undone }: Unmade<RecordState | DocumentState, unknown>,
  now: ReadonlyMap<string, unknown>,
): ChangedRecord | undefined {
  const fields = [...touched].flatMap(([name, { write, later }]): ChangedField[] => {
    if (write === undefined || isDeepStrictEqual(write.from, write.to)) return [];
    const [before, after] = [write.from, write.to].map((value) => ({ [name]: value }) as RecordFields);
    return diffFields(before, after as RecordFields).map((change) => ({
      ...{ ...change, version: write.event.revision + 1, at: write.event.recordedAt },
      ...(later && { since: { ...laterWrite(later), value: now.get(change.field) ?? null } }),
    }));
  });
  if (fields.length === 0 && !wasErased) return undefined;
  return { ...about, created: isCreated, erased: wasErased, fields, versions: versionsOf(undone) };
}

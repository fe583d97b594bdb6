import { isDeepStrictEqual } from 'node:util';
import { v7 as uuidv7 } from 'uuid';
import { isJsonObject, type Position, type RecordedEvent } from '../../../domain/events/event.ts';
import type { Caller } from '../../../domain/events/newEvent.ts';
import { documentIdsOf, kindOfStream, recordIdOf } from '../../../domain/events/streams.ts';
import { catalogEntry } from '../../../domain/records/catalog.ts';
import type { RecordState } from '../../../domain/records/fold.ts';
import type { CatalogEntry, RecordFields } from '../../../domain/records/schema/kind.ts';
import { ServiceError } from '../../../platform/errors.ts';
import { isUnavailable } from '../../../platform/retry.ts';
import type { DocumentStore } from '../../../storage/documentStore.ts';
import { foldStream } from '../queries/records.ts';
import {
  documentFold,
  FILE,
  filenameOf,
  inSelectedStreams,
  type LaterWrite,
  laterWrite,
  recordFold,
  type SelectedRecord,
  type Selector,
  selectedOf,
  selector,
  type Unmade,
  type WriteSelection,
} from '../queries/selectedWrites.ts';
import { receiveFile, removeDocument, uploadDocument } from './documents.ts';
import { patchRecord, type WritePorts } from './upsert.ts';

export const undoActions = ['revert', 'void', 'remove', 'created', 'keep', 'blocked'] as const;
/**
 * What an undo does with a record or document: `revert`: it gets the values from before; `void`: the encounter was created by the
 * selected writes, and is voided; `remove`: the document was removed before, and is again; `created`: the record or document was
 * created by them, and stays, as erasing it is a decision of its own; `keep`: everything was written by others since; `blocked`: it
 * was erased or cannot be read, or its values from before are refused now.
 */
export type UndoAction = (typeof undoActions)[number];

/** The same in a few words. */
export const undoActionTexts: Record<UndoAction, string> = {
  revert: 'with values from before',
  void: 'voided, as it was created',
  remove: 'removed, as before',
  created: 'was created, and stays',
  keep: 'stays, as others wrote since',
  blocked: 'cannot be undone',
};

/** A field that the selected writes changed; an insurance counts as one field. */
export interface UndoneField {
  field: string;
  /** The value now; `null`: none. */
  from: unknown;
  /** The value without the selected writes; `null`: none. */
  to: unknown;
  action: 'revert' | 'keep';
  /** For a field that is kept: the last write of it by others; absent for one that is required, and had no value. */
  by?: LaterWrite;
}

/** What an undo would do, or did, with a record or a document. */
export interface UndoneRecord extends SelectedRecord {
  /** Its version when this was decided; after applying it, the version that was written. */
  version: number;
  action: UndoAction;
  fields: UndoneField[];
  /** Why it is blocked. */
  problem?: string;
}

export interface UndoPorts extends WritePorts {
  documentStore: DocumentStore;
}

/**
 * Undoes the selected writes of a workspace by writes of the caller, and yields, some at a time, what was done with each record and
 * document. A field gets the value that it would have if the selected writes had never been made: what others wrote since stays. Each
 * record is decided on its state at that moment, so that the next run completes one that was cut off. The events have the caller's
 * request id, by which they can be undone in turn, and name the event that they undo (`reverts`). With `dryRun` it writes nothing, and
 * yields what would be done. `after`: only records whose first selected write is after this position. Rejects with `unavailable`.
 */
export function undoWrites(
  ports: UndoPorts,
  caller: Caller,
  selection: WriteSelection,
  { dryRun, after = 0 }: { dryRun: boolean; after?: Position },
): AsyncGenerator<UndoneRecord[]> {
  const isSelected = selector(selection, caller.requestId);
  return inSelectedStreams(ports.eventLog, caller.workspace, selection, isSelected, {
    after,
    look(stream) {
      const isDocument = kindOfStream(stream) === 'document';
      return (isDocument ? undoDocument : undoRecord)(ports, caller, stream, isSelected, dryRun);
    },
    unreadable: (subject, version) => ({
      ...{ ...subject, version, action: 'blocked', fields: [] },
      problem: 'It has an event that cannot be read.',
    }),
  });
}

/** Returns what undoing means for a record; undefined when nothing is left to undo. */
function decide(
  { kind, schema }: CatalogEntry,
  { state, without, undone, isCreated, touched }: Unmade<RecordState, RecordFields>,
): Pick<UndoneRecord, 'action' | 'fields'> | undefined {
  const fields = [...touched].flatMap(([field, { later }]): UndoneField[] => {
    const [from, to] = [state.fields[field] ?? null, without?.[field] ?? null];
    // It was undone before.
    if (undone.some((event) => event.id === later?.metadata.reverts)) return [];
    const by = later && { by: laterWrite(later) };
    if (by) return [{ field, from, to: from, action: 'keep', ...by }];
    if (isCreated || isDeepStrictEqual(from, to)) return [];
    const isRequired = to === null && !schema.shape[field]?.safeParse(undefined).success;
    return [isRequired ? { field, from, to: from, action: 'keep' } : { field, from, to, action: 'revert' }];
  });
  if (isCreated) {
    if (kind !== 'encounter') return { action: 'created', fields };
    if (state.fields.voided_at !== undefined) return undefined;
    return { action: without === undefined ? 'void' : 'keep', fields };
  }
  if (fields.length === 0) return undefined;
  return { action: fields.some(({ action }) => action === 'revert') ? 'revert' : 'keep', fields };
}

/** Returns the merge patch that reverts fields; an insurance is replaced as a whole. */
function patchFor(id: string, fields: readonly UndoneField[]): Record<string, unknown> {
  const reverted = fields.filter(({ action }) => action === 'revert');
  const patch = reverted.map(({ field, from, to }) => {
    if (!isJsonObject(from) || !isJsonObject(to)) return [field, to];
    return [field, { ...Object.fromEntries(Object.keys(from).map((name) => [name, null])), ...to }];
  });
  return { id, ...Object.fromEntries(patch) };
}

/** The caller of one of the writes of an undo: each has an event id of its own. */
function callerFor(caller: Caller, undone: readonly RecordedEvent[]): Caller {
  const reverts = undone.at(-1)?.id;
  return {
    ...{ ...caller, earlier: { eventId: uuidv7(), appended: false } },
    ...(reverts !== undefined && { reverts }),
  };
}

/** The problem of a write that was refused; rethrows what is no refusal. */
function problemOf(error: unknown): string {
  if (isUnavailable(error) || !(error instanceof ServiceError)) throw error;
  return error.details?.map(({ field, message }) => `${field} ${message}`).join('; ') ?? error.message;
}

async function undoRecord(
  ports: UndoPorts,
  caller: Caller,
  stream: string,
  isSelected: Selector,
  dryRun: boolean,
): Promise<UndoneRecord | undefined> {
  const entry = catalogEntry(kindOfStream(stream));
  const id = recordIdOf(stream);
  const fold = recordFold(entry, isSelected);
  for (;;) {
    const unmade = await foldStream(ports.eventLog, stream, fold);
    if (unmade === undefined) return undefined;
    const { version, undone, wasErased, state } = unmade;
    const about = { kind: entry.kind, id, version, ...selectedOf(unmade) };
    if (wasErased && undone.length === 0)
      return { ...about, action: 'blocked', fields: [], problem: 'What was written is erased.' };
    const decided = decide(entry, unmade);
    if (decided === undefined) return undefined;
    const done = { ...about, ...decided };
    const patch =
      done.action === 'void'
        ? { id, voided_at: new Date().toISOString(), void_reason: 'Undone' }
        : done.action === 'revert' && patchFor(id, done.fields);
    if (!patch) return done;
    try {
      const own = callerFor(caller, undone);
      const written = await patchRecord(ports, own, entry, id, patch, {
        condition: state.version - 1,
        dryRun,
      });
      return dryRun ? done : { ...done, version: written.version };
    } catch (error) {
      // Somebody wrote in the meantime: decide again.
      if (error instanceof ServiceError && error.code === 'version_conflict') continue;
      return { ...done, action: 'blocked', problem: problemOf(error) };
    }
  }
}

async function undoDocument(
  ports: UndoPorts,
  caller: Caller,
  stream: string,
  isSelected: Selector,
  dryRun: boolean,
): Promise<UndoneRecord | undefined> {
  const { eventLog, documentStore } = ports;
  const { encounterId, documentId } = documentIdsOf(stream);
  const fold = documentFold(isSelected);
  for (;;) {
    const unmade = await foldStream(eventLog, stream, fold);
    if (unmade === undefined) return undefined;
    const { version, undone, without, wasErased, state, touched } = unmade;
    const about = {
      ...{ kind: 'document', id: encounterId, document_id: documentId, version, fields: [] },
      ...selectedOf(unmade),
    };
    if (wasErased && undone.length === 0)
      return { ...about, action: 'blocked', problem: 'What was written is erased.' };
    const [now, before] = [state, without].map((one) => (one && !one.removed ? one.document : undefined));
    const later = touched.get(FILE)?.later;
    const field = { field: FILE, from: filenameOf(state), to: filenameOf(state) };
    if (undone.some((event) => event.id === later?.metadata.reverts)) return undefined;
    if (later)
      return { ...about, action: 'keep', fields: [{ ...field, action: 'keep', by: laterWrite(later) }] };
    if (now?.sha256 === before?.sha256 && now?.category === before?.category) return undefined;
    if (without === undefined) return { ...about, action: 'created' };
    const fields: UndoneField[] = [{ ...field, to: filenameOf(without), action: 'revert' }];
    const own = callerFor(caller, undone);
    const condition = now ? version - 1 : 'none';
    try {
      if (before === undefined) {
        if (!dryRun) await removeDocument(eventLog, own, encounterId, documentId, condition);
        return { ...about, action: 'remove', fields, version: dryRun ? version : version + 1 };
      }
      if (!(await documentStore.has(before.object_id)))
        return { ...about, action: 'blocked', fields, problem: 'The file from before is no longer kept.' };
      if (dryRun) return { ...about, action: 'revert', fields };
      const file = await receiveFile(
        documentStore,
        before.filename,
        await documentStore.get(before.object_id),
      );
      const sent = { document_id: documentId, category: before.category };
      const written = await uploadDocument(ports, own, encounterId, { fields: sent, file }, condition);
      return { ...about, action: 'revert', fields, version: written.version };
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'version_conflict') continue;
      return { ...about, action: 'blocked', fields, problem: problemOf(error) };
    }
  }
}

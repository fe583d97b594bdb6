import { isDeepStrictEqual } from 'node:util';
import { v7 as uuidv7 } from 'uuid';
import {
  dataAs,
  isJsonObject,
  type Position,
  type Principal,
  type RecordedEvent,
} from '../../../domain/events/event.ts';
import type { Caller } from '../../../domain/events/newEvent.ts';
import { type RecordErased, tombstoneTypes, type Written } from '../../../domain/events/payloads.ts';
import { documentIdsOf, kindOfStream, recordIdOf } from '../../../domain/events/streams.ts';
import { upcast } from '../../../domain/events/upcasting.ts';
import { catalogEntry, subjectKinds } from '../../../domain/records/catalog.ts';
import { type DocumentState, evolveDocument } from '../../../domain/records/document.ts';
import { changedFields, evolveRecord, mergeFields, type RecordState } from '../../../domain/records/fold.ts';
import type { CatalogEntry, RecordFields } from '../../../domain/records/schema/kind.ts';
import { ServiceError } from '../../../platform/errors.ts';
import { isUnavailable } from '../../../platform/retry.ts';
import type { DocumentStore } from '../../../storage/documentStore.ts';
import { type EventLog, followToEnd } from '../../../storage/eventLog.ts';
import { foldStream } from '../queries/records.ts';
import { receiveFile, removeDocument, uploadDocument } from './documents.ts';
import { patchRecord, type WritePorts } from './upsert.ts';

/** The writes to undo: those that meet every condition given. */
export interface UndoSelection {
  /** Who wrote them. */
  principal?: Principal;
  /** The id of the source whose messages led to them. */
  source?: string;
  /** The id of the request that made them: of a batch, or of an earlier undo. */
  request?: string;
  /** When they were recorded, ISO 8601 in UTC: at `since` or later, and before `until`. */
  since?: string;
  until?: string;
  /** Kinds of records, or `document`. Default: all. */
  kinds?: readonly string[];
}

export const undoActions = ['revert', 'void', 'remove', 'created', 'keep', 'blocked'] as const;
/**
 * What an undo does with a record or document: `revert`: it gets the values from before; `void`: the encounter was created by the
 * selected writes, and is voided; `remove`: the document was removed before, and is again; `created`: the record or document was
 * created by them, and stays, as erasing it is a decision of its own; `keep`: everything was written by others since; `blocked`: it
 * was erased, or its values from before are refused now.
 */
export type UndoAction = (typeof undoActions)[number];

/** Someone's later write. */
export interface LaterWrite {
  version: number;
  at: string;
  principal: Principal;
}

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
export interface UndoneRecord {
  /** The kind of a record, or `document`. */
  kind: string;
  /** For a document: that of its encounter. */
  id: string;
  document_id?: string;
  /** Its version when this was decided; after applying it, the version that was written. */
  version: number;
  action: UndoAction;
  /** The versions that are undone, and the positions of their events. */
  undone: { version: number; position: Position }[];
  fields: UndoneField[];
  /** Why it is blocked. */
  problem?: string;
}

export interface UndoPorts extends WritePorts {
  documentStore: DocumentStore;
}

const AT_ONCE = 32;

/**
 * Undoes the selected writes of a workspace by writes of the caller, and yields, some at a time, what was done with each record and
 * document. A field gets the value that it would have if the selected writes had never been made: what others wrote since stays. Each
 * record is decided on its state at that moment, so that the next run completes one that was cut off. The events have the caller's
 * request id, by which they can be undone in turn, and name the event that they undo (`reverts`). With `dryRun` it writes nothing, and
 * yields what would be done. Rejects with `unavailable`.
 */
export async function* undoWrites(
  ports: UndoPorts,
  caller: Caller,
  selection: UndoSelection,
  { dryRun }: { dryRun: boolean },
): AsyncGenerator<UndoneRecord[]> {
  const isSelected = selector(selection, caller.requestId);
  const streams = await selectedStreams(ports.eventLog, caller.workspace, selection, isSelected);
  for (let from = 0; from < streams.length; from += AT_ONCE) {
    const wave = streams.slice(from, from + AT_ONCE);
    const done = await Promise.all(
      wave.map((stream) =>
        kindOfStream(stream) === 'document'
          ? undoDocument(ports, caller, stream, isSelected, dryRun)
          : undoRecord(ports, caller, stream, isSelected, dryRun),
      ),
    );
    yield done.filter((one) => one !== undefined);
  }
}

type Selector = (write: WriteAt) => boolean;
/** What is known of a write, even after its event was erased. */
type WriteAt = Pick<Written, 'recordedAt' | 'principal' | 'requestId'> & {
  source?: { id: string } | undefined;
};

function selector({ principal, source, request, since, until }: UndoSelection, own: string): Selector {
  return ({ recordedAt, requestId, ...write }) =>
    requestId !== own &&
    (principal === undefined ||
      (write.principal.type === principal.type && write.principal.id === principal.id)) &&
    (source === undefined || write.source?.id === source) &&
    (request === undefined || requestId === request) &&
    (since === undefined || recordedAt >= since) &&
    (until === undefined || recordedAt < until);
}

const writeOf = ({ recordedAt, metadata }: RecordedEvent): WriteAt => ({ recordedAt, ...metadata });

/** Returns the streams with selected writes, erased ones included, in the order of the first of them. */
async function selectedStreams(
  eventLog: EventLog,
  workspace: string,
  { kinds = subjectKinds }: UndoSelection,
  isSelected: Selector,
): Promise<string[]> {
  const filter = { streamPrefixes: kinds.map((kind) => `${workspace}.${kind}-`) };
  const streams = new Set<string>();
  for await (const { events } of followToEnd(eventLog, { after: 0, filter })) {
    for (const event of events) {
      if (erasedWrites(event).some(isSelected) || isSelected(writeOf(event))) streams.add(event.stream);
    }
  }
  return [...streams];
}

/** Returns what a tombstone says of the writes that it replaced; none for any other event. */
function erasedWrites({ type, data }: RecordedEvent): WriteAt[] {
  if (!tombstoneTypes.includes(type)) return [];
  return dataAs<RecordErased>(data).erased.flatMap(({ written }) => written ?? []);
}

/** A stream as it is, beside what it would be without the selected writes. */
interface Unmade<State, Without> {
  version: number;
  state: State;
  /** Undefined where nobody else wrote. */
  without: Without | undefined;
  /** The selected writes, oldest first. */
  undone: RecordedEvent[];
  /** Whether the first write of all was a selected one. */
  isCreated: boolean;
  /** Whether selected writes were erased. */
  wasErased: boolean;
  /** The fields that selected writes changed, each with the last write by others since; undefined: none. */
  touched: Map<string, RecordedEvent | undefined>;
}

const isErased = (state: RecordState | DocumentState) => 'erased' in state && state.erased === true;

/** Returns the fold of a stream's next event into both; `others` folds one that was not selected, `own` one that was. */
function unmadeFold<State extends RecordState | DocumentState, Without>(
  isSelected: Selector,
  evolve: (state: State | undefined, event: RecordedEvent) => State,
  {
    own,
    others,
  }: Record<'own' | 'others', (unmade: Unmade<State, Without>, event: RecordedEvent, before?: State) => void>,
) {
  return (unmade: Unmade<State, Without> | undefined, event: RecordedEvent): Unmade<State, Without> => {
    const before = unmade && !isErased(unmade.state) ? unmade.state : undefined;
    const state = evolve(unmade?.state, event);
    const isOwn = isSelected(writeOf(event));
    const next: Unmade<State, Without> = {
      ...(unmade && before && !isErased(state)
        ? unmade
        : { without: undefined, undone: [], isCreated: isOwn, touched: new Map() }),
      ...{ version: event.revision + 1, state },
      wasErased: unmade?.wasErased === true || erasedWrites(event).some(isSelected),
    };
    if (isErased(state) || tombstoneTypes.includes(event.type)) return next;
    if (isOwn) next.undone.push(event);
    (isOwn ? own : others)(next, event, before);
    return next;
  };
}

const laterWrite = ({ revision, recordedAt, metadata: { principal } }: RecordedEvent): LaterWrite => ({
  ...{ version: revision + 1, at: recordedAt, principal },
});

const versionsOf = (undone: readonly RecordedEvent[]) =>
  undone.map(({ revision, position }) => ({ version: revision + 1, position }));

/** Returns what undoing means for a record; undefined when nothing is left to undo. */
function decide(
  { kind, schema }: CatalogEntry,
  { state, without, undone, isCreated, touched }: Unmade<RecordState, RecordFields>,
): Pick<UndoneRecord, 'action' | 'fields'> | undefined {
  const fields = [...touched].flatMap(([field, later]): UndoneField[] => {
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
  const fold = unmadeFold<RecordState, RecordFields>(
    isSelected,
    (state, event) => evolveRecord(entry.kind, state, event),
    {
      own({ state, touched }, _, before) {
        for (const name of changedFields(before?.fields, state.fields))
          if (name !== 'id') touched.set(name.split('.')[0] as string, undefined);
      },
      others(unmade, event) {
        const sent = upcast(event).data as RecordFields;
        unmade.without = mergeFields(unmade.without ?? ({} as RecordFields), sent);
        for (const field in sent)
          if (field !== 'id' && (unmade.isCreated || unmade.touched.has(field)))
            unmade.touched.set(field, event);
      },
    },
  );
  for (;;) {
    const unmade = await foldStream(ports.eventLog, stream, fold);
    if (unmade === undefined) return undefined;
    const { version, undone, wasErased, state } = unmade;
    const about = { kind: entry.kind, id, version, undone: versionsOf(undone) };
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
  const fold = unmadeFold<DocumentState, DocumentState>(isSelected, evolveDocument, {
    own({ touched }) {
      touched.set('file', undefined);
    },
    others(unmade, event) {
      unmade.without = unmade.state;
      if (unmade.touched.has('file')) unmade.touched.set('file', event);
    },
  });
  for (;;) {
    const unmade = await foldStream(eventLog, stream, fold);
    if (unmade === undefined) return undefined;
    const { version, undone, without, wasErased, state, touched } = unmade;
    const about = {
      ...{ kind: 'document', id: encounterId, document_id: documentId, version, fields: [] },
      undone: versionsOf(undone),
    };
    if (wasErased && undone.length === 0)
      return { ...about, action: 'blocked', problem: 'What was written is erased.' };
    const [now, before] = [state, without].map((one) => (one && !one.removed ? one.document : undefined));
    const later = touched.get('file');
    const field = { field: 'file', from: now?.filename ?? null, to: now?.filename ?? null };
    if (undone.some((event) => event.id === later?.metadata.reverts)) return undefined;
    if (later)
      return { ...about, action: 'keep', fields: [{ ...field, action: 'keep', by: laterWrite(later) }] };
    if (now?.sha256 === before?.sha256 && now?.category === before?.category) return undefined;
    if (without === undefined) return { ...about, action: 'created' };
    const fields: UndoneField[] = [{ ...field, to: before?.filename ?? null, action: 'revert' }];
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

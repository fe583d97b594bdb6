import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  dataAs,
  eventIdTime,
  type Position,
  type Principal,
  type RecordedEvent,
} from '../../../domain/events/event.ts';
import { type RecordErased, tombstoneTypes, type Written } from '../../../domain/events/payloads.ts';
import { documentIdsOf, kindOfStream, recordIdOf } from '../../../domain/events/streams.ts';
import { upcast } from '../../../domain/events/upcasting.ts';
import { subjectKinds } from '../../../domain/records/catalog.ts';
import { type DocumentState, evolveDocument } from '../../../domain/records/document.ts';
import { changedFields, evolveRecord, mergeFields, type RecordState } from '../../../domain/records/fold.ts';
import type { CatalogEntry, RecordFields } from '../../../domain/records/schema/kind.ts';
import { asUnreadable } from '../../../platform/errors.ts';
import { type EventBatch, type EventLog, followToEnd } from '../../../storage/eventLog.ts';
import { allInTurns } from './records.ts';

/** Which writes of a workspace are meant: those that meet every condition given. */
export interface WriteSelection {
  /** The id of the key, user or operator that wrote them. */
  principal?: string;
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

/** Someone's later write. */
export interface LaterWrite {
  version: number;
  at: string;
  principal: Principal;
}

/** Whether a write is one of those selected. */
export type Selector = (write: WriteAt) => boolean;
/** What is known of a write, even after its event was erased. */
type WriteAt = Pick<Written, 'recordedAt' | 'principal' | 'requestId'> & {
  source?: { id: string } | undefined;
};

/** Returns the condition of a selection; writes of the request `own` never meet it. */
export function selector(
  { principal, source, request, since, until }: WriteSelection,
  own?: string,
): Selector {
  return ({ recordedAt, requestId, ...write }) =>
    requestId !== own &&
    (principal === undefined || write.principal.id === principal) &&
    (source === undefined || write.source?.id === source) &&
    (request === undefined || requestId === request) &&
    (since === undefined || recordedAt >= since) &&
    (until === undefined || recordedAt < until);
}

/** Returns what a selector looks at. */
export const writeOf = ({ recordedAt, metadata }: RecordedEvent): WriteAt => ({ recordedAt, ...metadata });

/** How many records are looked at at the same time. */
const WAVE = 32;

/** A record or a document with selected writes. */
export interface SelectedRecord {
  /** The kind of a record, or `document`. */
  kind: string;
  /** For a document: that of its encounter. */
  id: string;
  document_id?: string;
  /** The position of the first selected write, erased ones included: lists are in this order. */
  first: Position;
  /** The versions that the selected writes made, and the positions of their events. */
  versions: { version: number; position: Position }[];
}

/** The place of an event in its stream and in the log. */
type EventPlace = Pick<RecordedEvent, 'stream' | 'revision' | 'position'>;

/**
 * Calls `look` with each stream whose first selected write, erased ones included, is after the position `after`, in the order of these
 * writes, and yields what it resolves with, some at a time; of a stream with an event that cannot be read, what `unreadable` returns:
 * `version` is that of its first selected write. An event that cannot be read counts as selected, unless its id was made at another
 * time. The log is read no further than what is asked for needs. Rejects with `unavailable`, and as `look` does.
 */
export async function* inSelectedStreams<Found extends SelectedRecord>(
  eventLog: EventLog,
  workspace: string,
  { kinds = subjectKinds, since, until }: WriteSelection,
  isSelected: Selector,
  {
    after,
    look,
    unreadable: unreadableOf,
  }: {
    after: Position;
    look(stream: string): Promise<Found | undefined>;
    unreadable(subject: SelectedRecord, version: number): Found;
  },
): AsyncGenerator<Found[]> {
  const filter = { streamPrefixes: kinds.map((kind) => `${workspace}.${kind}-`) };
  const known = new Set<string>();
  const [begin, end] = [Date.parse(since ?? '1970-01-01'), Date.parse(until ?? '9999-12-31')];
  const mayBeMadeThen = (made: number) => made === 0 || (made >= begin && made <= end);
  const placesIn = ({ events, unreadable = [] }: EventBatch): EventPlace[] => [
    ...events.filter((event) => isOrErased(event, isSelected)),
    ...unreadable.filter(({ id }) => mayBeMadeThen(eventIdTime(id))),
  ];
  const unreadable = async (error: unknown, { stream, position, revision }: EventPlace) => {
    asUnreadable(error);
    // What cannot be folded does not say where its first selected write is: an earlier page may have it.
    if (await hasPlaceUpTo(eventLog, after, stream, placesIn)) return undefined;
    return unreadableOf({ ...subjectOf(stream), first: position, versions: [] }, revision + 1);
  };
  for await (const batch of followToEnd(eventLog, { after, filter })) {
    const firsts = placesIn(batch)
      .toSorted((one, other) => one.position - other.position)
      .filter(({ stream }) => !known.has(stream) && known.add(stream));
    for (let from = 0; from < firsts.length; from += WAVE) {
      const wave = firsts.slice(from, from + WAVE);
      const found = await allInTurns(wave, (first) =>
        look(first.stream).catch((error) => unreadable(error, first)),
      );
      yield found.filter((one) => one !== undefined).filter(({ first }) => first > after);
      await nextTurn();
    }
  }
}

/** Returns what the stream of a record or document is about. */
export function subjectOf(stream: string): Pick<SelectedRecord, 'kind' | 'id' | 'document_id'> {
  const kind = kindOfStream(stream);
  if (kind !== 'document') return { kind, id: recordIdOf(stream) };
  const { encounterId: id, documentId: document_id } = documentIdsOf(stream);
  return { kind, id, document_id };
}

/** Whether a stream has one of the places up to a position. */
async function hasPlaceUpTo(
  eventLog: EventLog,
  end: Position,
  stream: string,
  placesIn: (batch: EventBatch) => EventPlace[],
): Promise<boolean> {
  if (end === 0) return false;
  // Streams of other records may begin with the same name.
  const isOne = (place: EventPlace) => place.stream === stream && place.position <= end;
  for await (const batch of followToEnd(eventLog, { after: 0, filter: { streamPrefixes: [stream] } })) {
    if (placesIn(batch).some(isOne)) return true;
    if (batch.position >= end) return false;
  }
  return false;
}

/** Whether an event is a selected write, or says that one was erased. */
const isOrErased = (event: RecordedEvent, isSelected: Selector) =>
  isSelected(writeOf(event)) || erasedWrites(event).some(isSelected);

/** Returns what a tombstone says of the writes that it replaced; none for any other event. */
function erasedWrites({ type, data }: RecordedEvent): WriteAt[] {
  if (!tombstoneTypes.includes(type)) return [];
  return dataAs<RecordErased>(data).erased.flatMap(({ written }) => written ?? []);
}

/** A stream as it is, beside what it would be without the selected writes. */
export interface Unmade<State, Without> extends Pick<SelectedRecord, 'first'> {
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
  /** The last tombstone, if nothing was written since. */
  erasure?: RecordedEvent;
  /**
   * The fields that selected writes changed. Of a record that they created, also those that others sent since. An insurance counts as
   * one field, and the file of a document as another.
   */
  touched: Map<string, TouchedField>;
}

/** What became of a field. */
interface TouchedField {
  /** The last selected write that changed it. */
  write?: SelectedChange;
  /** The last write of it by others since. */
  later?: RecordedEvent;
}

/** A change of a field by a selected write: from the value that it would have had without the selected writes. */
interface SelectedChange {
  event: RecordedEvent;
  from: unknown;
  to: unknown;
}

const isErased = (state: RecordState | DocumentState) => 'erased' in state && state.erased === true;

/** Returns the fold of a stream's next event into both; `others` folds one that was not selected, `own` one that was. */
function unmadeFold<State extends RecordState | DocumentState, Without>(
  isSelected: Selector,
  evolve: (state: State | undefined, event: RecordedEvent) => State,
  {
    own,
    others,
  }: {
    own(unmade: Unmade<State, Without>, before: State | undefined): void;
    others(unmade: Unmade<State, Without>, event: RecordedEvent): void;
  },
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
      first: unmade?.first || (isOrErased(event, isSelected) ? event.position : 0),
      wasErased: unmade?.wasErased === true || erasedWrites(event).some(isSelected),
    };
    if (isErased(state)) return { ...next, erasure: event };
    if (tombstoneTypes.includes(event.type)) return next;
    if (isOwn) {
      next.undone.push(event);
      own(next, before);
    } else others(next, event);
    return next;
  };
}

/** Returns what is said of a later write. */
export const laterWrite = ({ revision, recordedAt, metadata: { principal } }: RecordedEvent): LaterWrite => ({
  ...{ version: revision + 1, at: recordedAt, principal },
});

/** Returns where the selected writes of a stream are. */
export const selectedOf = ({
  first,
  undone,
}: Pick<Unmade<unknown, unknown>, 'first' | 'undone'>): Pick<SelectedRecord, 'first' | 'versions'> => ({
  first,
  versions: undone.map(({ revision, position }) => ({ version: revision + 1, position })),
});

/** Returns the fold of a record's next event. */
export function recordFold({ kind }: CatalogEntry, isSelected: Selector) {
  return unmadeFold<RecordState, RecordFields>(
    isSelected,
    (state, event) => evolveRecord(kind, state, event),
    {
      own({ state, without, touched, undone }, before) {
        const event = undone.at(-1) as RecordedEvent;
        for (const name of changedFields(before?.fields, state.fields)) {
          const field = name.split('.')[0] as string;
          const [from, to] = [without?.[field] ?? null, state.fields[field] ?? null];
          if (field !== 'id') touched.set(field, { write: { event, from, to } });
        }
      },
      others(unmade, event) {
        const sent = upcast(event).data as RecordFields;
        unmade.without = mergeFields(unmade.without ?? ({} as RecordFields), sent);
        for (const field in sent) {
          if (field === 'id' || !(unmade.isCreated || unmade.touched.has(field))) continue;
          unmade.touched.set(field, { ...unmade.touched.get(field), later: event });
        }
      },
    },
  );
}

/** The name of the field that says which file a document has. */
export const FILE = 'file';

/** Returns the name of the file that a document has; `null`: none. */
export const filenameOf = (state: DocumentState | undefined): string | null =>
  (!state?.removed && state?.document?.filename) || null;

/** Returns what a document has, by the names of its fields; `null`: nothing. A file that replaces one of the same name has another digest. */
export const documentFields = (state: DocumentState | undefined) =>
  new Map([
    [FILE, filenameOf(state)],
    ['category', (!state?.removed && state?.document?.category) || null],
    ['sha256', (!state?.removed && state?.document?.sha256) || null],
  ]);

/** Returns the fold of a document's next event. */
export function documentFold(isSelected: Selector) {
  return unmadeFold<DocumentState, DocumentState>(isSelected, evolveDocument, {
    own({ state, without, touched, undone }) {
      const event = undone.at(-1) as RecordedEvent;
      const before = documentFields(without);
      for (const [field, to] of documentFields(state))
        touched.set(field, { write: { event, from: before.get(field), to } });
    },
    others(unmade, event) {
      unmade.without = unmade.state;
      for (const [field, one] of unmade.touched) unmade.touched.set(field, { ...one, later: event });
    },
  });
}

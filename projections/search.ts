import type { RecordedEvent } from '../src/domain/events/event.ts';
import { RECORD_ERASED } from '../src/domain/events/payloads.ts';
import {
  documentIdsOf,
  kindOfStream,
  kindPartition,
  partitionOfRecord,
} from '../src/domain/events/streams.ts';
import { addedKinds, catalog, catalogEntry } from '../src/domain/records/catalog.ts';
import { type DocumentState, documentEventTypes, evolveDocument } from '../src/domain/records/document.ts';
import { evolveRecord, type RecordState } from '../src/domain/records/fold.ts';
import {
  boundedTerms,
  idTerms,
  nameTerms,
  recordTerms,
  searchedFields,
} from '../src/domain/records/searchIndex.ts';
import type { SearchTerms } from '../src/storage/readModels.ts';
import { bodyOf, type Incomplete, incompleteBody, modelName, type Projection } from './projection.ts';

/**
 * What is found: for a record the fields that the search covers, for a document everything but its file, even if it was removed.
 */
export type Findable = RecordState | DocumentState;

/** The source of the terms, as text, and the function that derives them. */
interface Terms {
  source: string | undefined;
  terms: () => string[];
}

/**
 * What the search finds, a row per record or document stream, by the partition of its workspace and kind. What was erased is no
 * longer found, and its row is empty.
 */
export const search: Projection<Findable | Incomplete> = {
  name: 'search',
  version: 2 + addedKinds,
  eventTypes: [...catalog.map(({ eventType }) => eventType), RECORD_ERASED, ...documentEventTypes],
  rowId: (event) => event.stream,
  evolve(row, event) {
    const kind = kindOfStream(event.stream);
    const before = bodyOf(row);
    const state = kind === 'document' ? documentAfter(before, event) : recordAfter(kind, before, event);
    const found = termsOf(event.stream, state);
    return {
      id: event.stream,
      partition: kindPartition(event.metadata.workspace, kind),
      order: row?.order ?? event.position,
      position: event.position,
      body: state,
      ...(found && {
        search: searchAfter(row?.search, before && termsOf(event.stream, before), found, event),
      }),
    };
  },
  incomplete: (row, { stream, position }) => ({
    id: stream,
    partition: partitionOfRecord(stream),
    order: row?.order ?? position,
    position,
    body: incompleteBody,
  }),
};

function recordAfter(kind: string, before: Findable | undefined, event: RecordedEvent): RecordState {
  const state = evolveRecord(kind, before as RecordState | undefined, event);
  return state.erased ? state : { ...state, fields: searchedFields(catalogEntry(kind), state.fields) };
}

function documentAfter(before: Findable | undefined, event: RecordedEvent): DocumentState {
  return evolveDocument(before as DocumentState | undefined, event);
}

/** Whether what is found is a record; otherwise it is a document. */
export function isRecordState(state: Findable): state is RecordState {
  return 'fields' in state;
}

/** Undefined if there is nothing by which it could be found. */
function termsOf(stream: string, state: Findable): Terms | undefined {
  if (isRecordState(state)) {
    const { kind, fields, erased } = state;
    return erased
      ? undefined
      : { source: JSON.stringify(fields), terms: () => recordTerms(catalogEntry(kind), fields) };
  }
  const filename = state.document?.filename;
  const { documentId } = documentIdsOf(stream);
  if (state.removed && state.erased) return undefined;
  return {
    source: filename,
    terms: () => boundedTerms([...idTerms(documentId), ...nameTerms(filename ?? '')]),
  };
}

/** Unchanged terms keep their place, and cost nothing. */
function searchAfter(
  earlier: SearchTerms | undefined,
  before: Terms | undefined,
  { source, terms }: Terms,
  { position }: RecordedEvent,
): SearchTerms {
  if (earlier && before && before.source === source) return earlier;
  return { terms: terms(), since: position };
}

export const searchModel = modelName(search);

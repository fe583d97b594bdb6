import type { Position } from '../src/domain/events/event.ts';
import { documentIdsOf, kindPartition, partitionOfRecord } from '../src/domain/events/streams.ts';
import { addedKinds } from '../src/domain/records/catalog.ts';
import { type DocumentState, documentEventTypes, evolveDocument } from '../src/domain/records/document.ts';
import { boundedTerms, idTerms, nameTerms } from '../src/domain/records/searchIndex.ts';
import type { SearchTerms } from '../src/storage/readModels.ts';
import { bodyOf, type Incomplete, incompleteBody, modelName, type Projection } from './projection.ts';

/**
 * The documents that the search finds, a row per stream, by the partition of its workspace: everything but the file, even if it was
 * removed. What was erased is no longer found, and its row is empty. Records are found by their own rows (`records`).
 */
export const documentSearch: Projection<DocumentState | Incomplete> = {
  // Its earlier versions held records, too, and counted their kinds: under the same name, what is left of them is purged.
  name: 'search',
  purpose: 'Search for documents',
  version: 3 + addedKinds,
  eventTypes: documentEventTypes,
  rowId: (event) => event.stream,
  evolve(row, event) {
    const { stream, position, metadata } = event;
    const before = bodyOf(row);
    const state = evolveDocument(before, event);
    return {
      id: stream,
      partition: kindPartition(metadata.workspace, 'document'),
      order: row?.order ?? position,
      position,
      body: state,
      ...(!(state.removed && state.erased) && {
        search: termsAfter(row?.search, before, state, { stream, position }),
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

/** Unchanged terms keep their place. */
function termsAfter(
  earlier: SearchTerms | undefined,
  before: DocumentState | undefined,
  { document }: DocumentState,
  { stream, position }: { stream: string; position: Position },
): SearchTerms {
  const filename = document?.filename;
  if (earlier && before?.document?.filename === filename) return earlier;
  const { documentId } = documentIdsOf(stream);
  return { terms: boundedTerms([...idTerms(documentId), ...nameTerms(filename ?? '')]), since: position };
}

export const documentSearchModel = modelName(documentSearch);

import { encounterOfDocument } from '../src/events/streamNames.ts';
import { type DocumentState, documentEventTypes, evolveDocument } from '../src/records/document.ts';
import { bodyOf, type Incomplete, incompleteBody, modelName, type Projection } from './projection.ts';

/** Every document's current state, a row a stream; partitions list one encounter's documents by creation. */
export const documents: Projection<DocumentState | Incomplete> = {
  name: 'documents',
  version: 2,
  eventTypes: documentEventTypes,
  rowId: (event) => event.stream,
  evolve(row, event) {
    const state = evolveDocument(bodyOf(row), event);
    const encounter = encounterOfDocument(event.stream);
    return {
      id: event.stream,
      partition: partitionOf(encounter, state),
      order: row?.order ?? event.position,
      position: event.position,
      body: state,
    };
  },
  incomplete: (row, { stream, position }) => ({
    id: stream,
    partition: encounterOfDocument(stream),
    order: row?.order ?? position,
    position,
    body: incompleteBody,
  }),
};

/** The partitions that list an encounter's documents: those that are there, and those that were removed. */
export function documentPartitions(encounter: string): string[] {
  return [encounter, `${encounter} removed`];
}

/** The partitions that list all documents that an encounter ever had, those that were erased at the end. */
export function everyDocumentPartition(encounter: string): string[] {
  return [...documentPartitions(encounter), `${encounter} erased`];
}

/** Those that are no longer there are apart, and still found by who erases the encounter. */
function partitionOf(encounter: string, state: DocumentState): string {
  if (!state.removed) return encounter;
  return `${encounter} ${state.erased ? 'erased' : 'removed'}`;
}

export const documentsModel = modelName(documents);

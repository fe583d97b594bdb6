import { encounterOfDocument } from '../src/domain/events/streamNames.ts';
import { type DocumentState, documentEventTypes, evolveDocument } from '../src/domain/records/document.ts';
import { bodyOf, type Incomplete, incompleteBody, modelName, type Projection } from './projection.ts';

/** Every document's current state, a row per stream; partitions list one encounter's documents by creation. */
export const documents: Projection<DocumentState | Incomplete> = {
  name: 'documents',
  version: 3,
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

/** Returns the partitions that list an encounter's documents: the existing ones, and the removed ones. */
export function documentPartitions(encounter: string): string[] {
  return [encounter, `${encounter} removed`];
}

/** Returns the partitions that list all documents that an encounter ever had, with erased ones last. */
export function everyDocumentPartition(encounter: string): string[] {
  return [...documentPartitions(encounter), `${encounter} erased`];
}

/** Those that no longer exist are kept separate, and are still found when the encounter is erased. */
function partitionOf(encounter: string, state: DocumentState): string {
  if (!state.removed) return encounter;
  return `${encounter} ${state.erased ? 'erased' : 'removed'}`;
}

export const documentsModel = modelName(documents);

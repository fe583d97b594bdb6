import { encounterOfDocument, recordStream } from '../src/events/streamNames.ts';
import { type DocumentState, documentEventTypes, evolveDocument } from '../src/records/document.ts';
import { bodyOf, type Incomplete, incompleteBody, modelName, type Projection } from './projection.ts';

/** Every document's current state, a row a stream; partitions list one encounter's documents by creation. */
export const documents: Projection<DocumentState | Incomplete> = {
  name: 'documents',
  version: 1,
  eventTypes: documentEventTypes,
  rowId: (event) => event.stream,
  evolve(row, event) {
    const state = evolveDocument(bodyOf(row), event);
    const encounter = recordStream(event.metadata.workspace, 'encounter', state.document.encounter_id);
    return {
      id: event.stream,
      partition: state.removed ? `${encounter} removed` : encounter,
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

export const documentsModel = modelName(documents);

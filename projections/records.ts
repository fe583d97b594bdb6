import { kindPartition, partitionOfRecord } from '../src/events/streamNames.ts';
import { addedKinds, catalog } from '../src/records/catalog.ts';
import { evolveRecord, type RecordState } from '../src/records/fold.ts';
import { bodyOf, type Incomplete, incompleteBody, modelName, type Projection } from './projection.ts';

const kindByEventType = new Map(catalog.map(({ eventType, kind }) => [eventType, kind]));

/** Every record's current state, a row a stream; partitions list one workspace's records of one kind by creation. */
export const records: Projection<RecordState | Incomplete> = {
  name: 'records',
  version: 1 + addedKinds,
  eventTypes: [...kindByEventType.keys()],
  rowId: (event) => event.stream,
  evolve(row, event) {
    const kind = kindByEventType.get(event.type);
    if (kind === undefined) throw new Error('not an event of a record');
    const state = evolveRecord(kind, bodyOf(row), event);
    return {
      id: event.stream,
      partition: kindPartition(event.metadata.workspace, kind),
      order: row?.order ?? event.position,
      position: event.position,
      body: state,
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

export const recordsModel = modelName(records);

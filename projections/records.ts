import { RECORD_ERASED } from '../src/events/recordErased.ts';
import { kindOfStream, kindPartition, partitionOfRecord } from '../src/events/streamNames.ts';
import { addedKinds, catalog } from '../src/records/catalog.ts';
import { evolveRecord, type RecordState } from '../src/records/fold.ts';
import { bodyOf, type Incomplete, incompleteBody, modelName, type Projection } from './projection.ts';

const kindByEventType = new Map(catalog.map(({ eventType, kind }) => [eventType, kind]));

/**
 * Every record's current state, a row a stream; partitions list one workspace's records of one kind by creation, without
 * those that were erased.
 */
export const records: Projection<RecordState | Incomplete> = {
  name: 'records',
  version: 2 + addedKinds,
  eventTypes: [...kindByEventType.keys(), RECORD_ERASED],
  rowId: (event) => event.stream,
  evolve(row, event) {
    const kind = kindByEventType.get(event.type) ?? kindOfStream(event.stream);
    const state = evolveRecord(kind, bodyOf(row), event);
    return {
      id: event.stream,
      partition: `${kindPartition(event.metadata.workspace, kind)}${state.erased ? ' erased' : ''}`,
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

import { erasureStep, RECORD_ERASED } from '../src/events/recordErased.ts';
import { recordStream } from '../src/events/streamNames.ts';
import { upcast } from '../src/events/upcast.ts';
import { type Incomplete, incompleteBody, modelName, type Projection } from './projection.ts';

/** Nothing: a row says by its partition which patient the encounter is of; the read model of records has the rest. */
type Empty = Record<never, never>;

/**
 * The encounters of each patient, a row a stream; partitions are named by the patient's stream. An upsert names the
 * patient; a patch that does not leaves it as it is. What was erased is apart.
 */
export const encounters: Projection<Empty | Incomplete> = {
  name: 'encounters',
  version: 1,
  eventTypes: ['EncounterUpserted', RECORD_ERASED],
  rowId: (event) => event.stream,
  evolve(row, event) {
    const { stream, position, metadata } = event;
    const { data, type } = upcast(event);
    const erased = `${metadata.workspace} erased`;
    const isOf = type === RECORD_ERASED ? undefined : (data.patient_id as string | undefined);
    const partition =
      isOf !== undefined
        ? recordStream(metadata.workspace, 'patient', isOf)
        : erasureStep(event) === 'done'
          ? erased
          : (row?.partition ?? erased);
    return { id: stream, partition, order: row?.order ?? position, position, body: {} };
  },
  incomplete: (row, { stream, position }) => ({
    id: stream,
    // Whose it is nobody can tell where its first event cannot be read.
    partition: row?.partition ?? 'unknown',
    order: row?.order ?? position,
    position,
    body: incompleteBody,
  }),
};

export const encountersModel = modelName(encounters);

import { erasureStep, RECORD_ERASED } from '../src/domain/events/recordErased.ts';
import { recordStream } from '../src/domain/events/streamNames.ts';
import { upcast } from '../src/domain/events/upcast.ts';
import { type Incomplete, incompleteBody, modelName, type Projection } from './projection.ts';

/** Empty: a row's partition says to which patient the encounter belongs; the read model of records has the rest. */
type Empty = Record<never, never>;

/**
 * The encounters of each patient, a row per stream; partitions are named by the patient's stream. An upsert names the patient; a
 * patch that does not name one leaves it as it is. Erased ones are kept separate.
 */
export const encounters: Projection<Empty | Incomplete> = {
  name: 'encounters',
  version: 2,
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
    // If its first event cannot be read, nobody can tell whose it is.
    partition: row?.partition ?? 'unknown',
    order: row?.order ?? position,
    position,
    body: incompleteBody,
  }),
};

export const encountersModel = modelName(encounters);
